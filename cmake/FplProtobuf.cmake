# SPDX-License-Identifier: Apache-2.0
# fpl_add_protobuf(<target> <file.proto>): a static library of the messages, as libprotobuf-c has them; consumers
# #include "<file>.pb-c.h". What protoc-c writes is nobody's style, and is built without the project's warnings.
find_program(PROTOC_C protoc-c REQUIRED)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)

function(fpl_add_protobuf target src)
  cmake_path(GET src STEM name)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/protobuf)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${name}.pb-c.c ${out}/${name}.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${CMAKE_CURRENT_SOURCE_DIR} --c_out=${out} ${src}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${src} VERBATIM)
  add_library(${target} STATIC ${out}/${name}.pb-c.c ${out}/${name}.pb-c.h)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${FPL_PATH_FLAGS} ${FPL_HARDENING})
  if(FPL_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FPL_SANITIZE})
  endif()
  target_include_directories(${target} SYSTEM INTERFACE ${out})
  target_link_libraries(${target} PUBLIC PkgConfig::PROTOBUF_C)
endfunction()
