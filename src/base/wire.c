/* SPDX-License-Identifier: Apache-2.0 */
#include "base/wire.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* Control data for WIRE_FDS_MAX descriptors, aligned as the kernel wants it. */
union wire_control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
};

int wire_send(int sock, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	for (size_t done = 0; done < size;) {
		ssize_t n = send(sock, from + done, size - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int wire_send_fds(int sock, const void *bytes, size_t size, const int *fds, size_t nr_fds)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = size };
	union wire_control control = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (nr_fds > WIRE_FDS_MAX)
		return -EINVAL;
	if (nr_fds) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, nr_fds * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return wire_send(sock, (const uint8_t *)bytes + n, size - (size_t)n);
}

int wire_recv(int sock, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	for (size_t done = 0; done < size;) {
		ssize_t n = recv(sock, to + done, size - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

int wire_recv_fds(int sock, void *bytes, size_t size, int ret_fds[WIRE_FDS_MAX])
{
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	union wire_control control;
	struct msghdr msg = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	for (size_t i = 0; i < WIRE_FDS_MAX; i++)
		ret_fds[i] = -1;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;

	const struct cmsghdr *header = CMSG_FIRSTHDR(&msg);

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return wire_recv(sock, (uint8_t *)bytes + n, size - (size_t)n);
}
