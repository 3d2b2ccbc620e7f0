/* SPDX-License-Identifier: Apache-2.0 */
/* The format: Documentation/bpf/btf.rst of the kernel. */
#include "profile/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"

#define KERNEL_BTF	 "/sys/kernel/btf/vmlinux"
#define KERNEL_BTF_MAX	 (256u << 20)
#define NAMES_SLOTS	 2048u /* a power of two; at most half are used */
#define KEPT_MAX	 2048u
#define KEPT_MEMBERS_MAX 16384u
#define CHAIN_MAX	 32u /* typedefs and qualifiers one behind the other */
/* Types are of different sizes: where one in so many begins is noted, the rest is walked. */
#define TYPES_PER_MARK 64u

/* Texts to be found again: open addressing. */
struct names {
	const char *slots[NAMES_SLOTS]; /* borrowed */
	size_t nr;
};

/* All types, as they lie in the file. */
struct types {
	const uint8_t *bytes;
	size_t size;
	const char *strings;
	size_t strings_size; /* the last byte is a NUL */
	uint32_t *marks;     /* owned: where types 1, 65, 129 and so on begin */
	uint32_t nr;	     /* the last type's number */
};

struct cutter {
	struct types types;
	struct names composites, members; /* of those who ask */
	/* numbers of types that are kept; their new ones are their places here, from 1 */
	uint32_t kept[KEPT_MAX];
	uint32_t nr_kept, nr_members;
	struct btf *btf; /* what is made */
};

/* FNV-1a, 32 bits. */
static const char **name_slot(struct names *names, const char *name)
{
	uint32_t hash = 0x811c9dc5u;

	for (const char *at = name; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 0x01000193u;
	while (names->slots[hash % NAMES_SLOTS] &&
	       strcmp(names->slots[hash % NAMES_SLOTS], name) != 0)
		hash++;
	return &names->slots[hash % NAMES_SLOTS];
}

static int add_name(struct names *names, const char *name)
{
	const char **slot = name_slot(names, name);

	if (*slot || !name[0])
		return 0;
	if (names->nr >= NAMES_SLOTS / 2)
		return -E2BIG;
	*slot = name;
	names->nr++;
	return 0;
}

static bool is_composite(const struct btf_type *type)
{
	return BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT ||
	       BTF_INFO_KIND(type->info) == BTF_KIND_UNION;
}

static int note_names(struct cutter *cutter, const struct btf *asking)
{
	int code = 0;

	for (uint32_t id = 1; !code && id < btf__type_cnt(asking); id++) {
		const struct btf_type *type = btf__type_by_id(asking, id);
		const struct btf_member *members = btf_members(type);

		if (!is_composite(type))
			continue;
		code = add_name(&cutter->composites, btf__name_by_offset(asking, type->name_off));
		for (uint32_t i = 0; !code && i < btf_vlen(type); i++)
			code = add_name(&cutter->members,
					btf__name_by_offset(asking, members[i].name_off));
	}
	return code;
}

/* Bytes of a type beyond struct btf_type; SIZE_MAX: a kind that is not known. */
static size_t tail_size(const struct btf_type *type)
{
	size_t nr = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return nr * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return nr * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return nr * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return nr * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return nr * sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return SIZE_MAX;
	}
}

/* The type at @at, which moves on behind it; *@ret_tail: what follows its struct btf_type. */
static int next_type(const struct types *types, size_t *at, struct btf_type *ret,
		     const uint8_t **ret_tail)
{
	size_t left = types->size - *at, tail;

	if (left < sizeof(*ret))
		return -EINVAL;
	memcpy(ret, types->bytes + *at, sizeof(*ret));
	tail = tail_size(ret);
	if (left - sizeof(*ret) < tail)
		return -EINVAL;
	*ret_tail = types->bytes + *at + sizeof(*ret);
	*at += sizeof(*ret) + tail;
	return 0;
}

static int type_at(const struct types *types, uint32_t id, struct btf_type *ret,
		   const uint8_t **ret_tail)
{
	if (!id || id > types->nr)
		return -EINVAL;

	size_t at = types->marks[(id - 1) / TYPES_PER_MARK];
	int code = 0;

	for (uint32_t i = 0; !code && i <= (id - 1) % TYPES_PER_MARK; i++)
		code = next_type(types, &at, ret, ret_tail);
	return code;
}

/* "" for what has no name; NULL: malformed. */
static const char *name_at(const struct types *types, uint32_t off)
{
	return off < types->strings_size ? types->strings + off : NULL;
}

static int keep(struct cutter *cutter, uint32_t id, uint32_t *ret)
{
	uint32_t i = 0;

	while (i < cutter->nr_kept && cutter->kept[i] != id)
		i++;
	if (i == KEPT_MAX)
		return -E2BIG;
	if (i == cutter->nr_kept)
		cutter->kept[cutter->nr_kept++] = id;
	*ret = i + 1;
	return 0;
}

/* Find the two parts of @all. */
static int open_types(struct types *types, const uint8_t *all, size_t size)
{
	struct btf_header header;

	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, all, sizeof(header));
	if (header.magic != BTF_MAGIC || header.version != BTF_VERSION ||
	    header.hdr_len < sizeof(header) || header.hdr_len > size)
		return -EINVAL;
	size -= header.hdr_len;
	if (header.type_off > size || header.type_len > size - header.type_off ||
	    header.str_off > size || header.str_len > size - header.str_off || !header.str_len)
		return -EINVAL;
	types->bytes = all + header.hdr_len + header.type_off;
	types->size = header.type_len;
	types->strings = (const char *)all + header.hdr_len + header.str_off;
	types->strings_size = header.str_len;
	if (types->strings[types->strings_size - 1])
		return -EINVAL;
	types->marks = calloc(types->size / sizeof(struct btf_type) / TYPES_PER_MARK + 1,
			      sizeof(*types->marks));
	return types->marks ? 0 : -ENOMEM;
}

/* The one pass over all types: notes where they are, and keeps those that are asked for by name. */
static int find_asked(struct cutter *cutter)
{
	struct types *types = &cutter->types;
	uint32_t unused;
	int code = 0;

	for (size_t at = 0; !code && at < types->size;) {
		struct btf_type type;
		const uint8_t *tail;

		if (types->nr % TYPES_PER_MARK == 0)
			types->marks[types->nr / TYPES_PER_MARK] = (uint32_t)at;
		types->nr++;
		code = next_type(types, &at, &type, &tail);
		if (code || !is_composite(&type) || !type.name_off)
			continue;

		const char *name = name_at(types, type.name_off);

		if (!name)
			code = -EINVAL;
		else if (*name_slot(&cutter->composites, name))
			code = keep(cutter, types->nr, &unused);
	}
	return code;
}

/* The type behind typedefs and qualifiers. */
static int resolve(const struct types *types, uint32_t id, struct btf_type *ret, uint32_t *ret_id)
{
	const uint8_t *tail;

	for (uint32_t i = 0; i < CHAIN_MAX; i++) {
		int code = type_at(types, id, ret, &tail);

		if (code)
			return code;
		switch (BTF_INFO_KIND(ret->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = ret->type;
			break;
		default:
			*ret_id = id;
			return 0;
		}
	}
	return -EINVAL;
}

/* The new number of what type @id is. */
static int refer(struct cutter *cutter, uint32_t id, uint32_t *ret)
{
	struct btf_type type;
	uint32_t base;
	int code = resolve(&cutter->types, id, &type, &base);

	return code ? code : keep(cutter, base, ret);
}

/* Add a member if a relocation may ask for it, or for a member inside it. */
static int cut_member(struct cutter *cutter, const struct btf_member *member, bool has_bits)
{
	const char *name = name_at(&cutter->types, member->name_off);
	uint32_t off = member->offset, nr_bits = 0, id;
	struct btf_type type;

	if (!name)
		return -EINVAL;
	if (name[0] && !*name_slot(&cutter->members, name))
		return 0;

	int code = resolve(&cutter->types, member->type, &type, &id);

	if (!code && !name[0] && !is_composite(&type))
		return 0;
	if (!code && ++cutter->nr_members > KEPT_MEMBERS_MAX)
		code = -E2BIG;
	if (!code)
		code = keep(cutter, id, &id);
	if (has_bits) {
		nr_bits = BTF_MEMBER_BITFIELD_SIZE(off);
		off = BTF_MEMBER_BIT_OFFSET(off);
	}
	return code ? code : btf__add_field(cutter->btf, name, (int)id, off, nr_bits);
}

static int cut_composite(struct cutter *cutter, const char *name, const struct btf_type *type,
			 const uint8_t *tail)
{
	int code = BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT
			   ? btf__add_struct(cutter->btf, name, type->size)
			   : btf__add_union(cutter->btf, name, type->size);

	for (uint32_t i = 0; code >= 0 && i < BTF_INFO_VLEN(type->info); i++) {
		struct btf_member member;

		memcpy(&member, tail + i * sizeof(member), sizeof(member));
		code = cut_member(cutter, &member, BTF_INFO_KFLAG(type->info));
	}
	return code;
}

static int cut_array(struct cutter *cutter, const uint8_t *tail)
{
	struct btf_array array;
	uint32_t element, index;
	int code;

	memcpy(&array, tail, sizeof(array));
	code = refer(cutter, array.type, &element);
	if (!code)
		code = refer(cutter, array.index_type, &index);
	return code ? code : btf__add_array(cutter->btf, (int)index, (int)element, array.nelems);
}

/* Adds the type @id to what is made; those it is made of are kept for their turns. */
static int cut_type(struct cutter *cutter, uint32_t id)
{
	struct btf_type type;
	const uint8_t *tail;
	uint32_t bits;
	int code = type_at(&cutter->types, id, &type, &tail);
	const char *name = code ? NULL : name_at(&cutter->types, type.name_off);

	if (!name)
		return -EINVAL;
	switch (BTF_INFO_KIND(type.info)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return cut_composite(cutter, name, &type, tail);
	case BTF_KIND_ARRAY:
		return cut_array(cutter, tail);
	case BTF_KIND_PTR:
		return btf__add_ptr(cutter->btf, 0);
	case BTF_KIND_INT:
		memcpy(&bits, tail, sizeof(bits));
		return btf__add_int(cutter->btf, name, type.size, (int)BTF_INT_ENCODING(bits));
	case BTF_KIND_FLOAT:
		return btf__add_float(cutter->btf, name, type.size);
	case BTF_KIND_ENUM:
		return btf__add_enum(cutter->btf, name, type.size);
	case BTF_KIND_ENUM64:
		return btf__add_enum64(cutter->btf, name, type.size, BTF_INFO_KFLAG(type.info));
	default:
		return -EINVAL; /* nothing a member could be */
	}
}

static int cut(struct cutter *cutter, const uint8_t *all, size_t size, const struct btf *asking)
{
	int code = note_names(cutter, asking);

	if (!code)
		code = open_types(&cutter->types, all, size);
	if (!code)
		code = find_asked(cutter);
	for (uint32_t i = 0; code >= 0 && i < cutter->nr_kept; i++)
		code = cut_type(cutter, cutter->kept[i]);
	return code < 0 ? code : 0;
}

int kernel_types_cut(const uint8_t *all, size_t size, const struct btf *asking, struct btf **ret)
{
	struct cutter *cutter = calloc(1, sizeof(*cutter));
	int code = -ENOMEM;

	if (cutter)
		cutter->btf = btf__new_empty();
	if (cutter && cutter->btf)
		code = cut(cutter, all, size, asking);
	if (!code)
		*ret = TAKE_PTR(cutter->btf);
	if (cutter) {
		btf__free(cutter->btf);
		free(cutter->types.marks);
	}
	free(cutter);
	return code;
}

int kernel_types_init(struct kernel_types *types, struct fpl_err *err)
{
	types->fd = memfd_create("fpless-types", MFD_CLOEXEC);
	if (types->fd < 0)
		return fpl_fail(err, -errno, "memfd_create: %s", strerror(errno));
	snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->fd);
	return 0;
}

void kernel_types_fini(struct kernel_types *types)
{
	cleanup_fd(&types->fd);
	types->fd = -1;
}

/* Writes what is cut out of the kernel's BTF, which lies at @all. */
static int write_cut(struct kernel_types *types, const uint8_t *all, size_t size,
		     const struct btf *asking, struct fpl_err *err)
{
	struct btf *btf = NULL;
	uint32_t cut_size = 0;
	int code = kernel_types_cut(all, size, asking, &btf);
	const void *bytes = code ? NULL : btf__raw_data(btf, &cut_size);

	if (!code)
		code = bytes ? io_write(types->fd, bytes, cut_size) : -ENOMEM;
	btf__free(btf);
	return code ? fpl_fail(err, code, KERNEL_BTF ": %s", strerror(-code)) : 0;
}

int kernel_types_fill(struct kernel_types *types, const struct btf *asking, struct fpl_err *err)
{
	AUTO_FD int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return fpl_fail(err, -errno, KERNEL_BTF ": %s", strerror(errno));
	if (stat.st_size <= 0 || stat.st_size > KERNEL_BTF_MAX)
		return fpl_fail(err, -EINVAL, KERNEL_BTF ": %lld bytes", (long long)stat.st_size);

	size_t size = (size_t)stat.st_size;
	/* since v6.16; else it is copied out page by page */
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map != MAP_FAILED) {
		int code = write_cut(types, map, size, asking, err);

		munmap(map, size);
		return code;
	}

	AUTO_FREE uint8_t *all = malloc(size);
	ssize_t nr = all ? io_read(fd, all, size) : -ENOMEM;

	if (nr < 0)
		return fpl_fail(err, (int)nr, KERNEL_BTF ": %s", strerror((int)-nr));
	return write_cut(types, all, (size_t)nr, asking, err);
}
