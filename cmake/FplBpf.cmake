# SPDX-License-Identifier: Apache-2.0
# fpl_add_bpf(<name> <file.bpf.c>): compile a BPF object, strip its DWARF (BTF stays) and generate
# <name>.skel.h. Consumers link the INTERFACE target <name>_skel and #include "<name>.skel.h".
find_program(BPFTOOL bpftool HINTS /usr/sbin REQUIRED)
find_program(BPF_CLANG NAMES clang-16 clang REQUIRED)
find_program(BPF_STRIP NAMES llvm-strip-16 llvm-strip REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(FPL_BPF_ARCH x86)
else()
  message(FATAL_ERROR "fpless has no ${CMAKE_SYSTEM_PROCESSOR} layer yet")
endif()

function(fpl_add_bpf name src)
  set(out ${PROJECT_BINARY_DIR}/bpf)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${name}.bpf.o
    COMMAND ${BPF_CLANG} -target bpf -mcpu=v3 -g -O2 -std=gnu11 -Wall -Wextra -Werror
            -Wno-unused-parameter -D__TARGET_ARCH_${FPL_BPF_ARCH}
            -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
            -I${PROJECT_SOURCE_DIR}
            -isystem /usr/include/${CMAKE_C_LIBRARY_ARCHITECTURE}
            -MD -MF ${out}/${name}.bpf.d -MT ${out}/${name}.bpf.o
            -c ${CMAKE_CURRENT_SOURCE_DIR}/${src} -o ${out}/${name}.bpf.o
    COMMAND ${BPF_STRIP} -g ${out}/${name}.bpf.o
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${src}
    DEPFILE ${out}/${name}.bpf.d VERBATIM)
  add_custom_command(OUTPUT ${out}/${name}.skel.h
    COMMAND ${BPFTOOL} gen skeleton ${out}/${name}.bpf.o name ${name}_bpf > ${out}/${name}.skel.h
    DEPENDS ${out}/${name}.bpf.o VERBATIM)
  add_custom_target(${name}_skel_gen DEPENDS ${out}/${name}.skel.h)
  add_library(${name}_skel INTERFACE)
  add_dependencies(${name}_skel ${name}_skel_gen)
  target_include_directories(${name}_skel SYSTEM INTERFACE ${out})
endfunction()
