# mha_embed(TARGET NAME FILE): adds the bytes of FILE to TARGET as `const unsigned char mha_embedded_NAME[]` and
# `const std::size_t mha_embedded_NAME_size`, by the assembler's .incbin, which costs no compile time.
enable_language(ASM)

function(mha_embed target name file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.S)
  file(WRITE ${source}.in "\
    .section .rodata
    .global mha_embedded_${name}
    .global mha_embedded_${name}_size
    .balign 64
mha_embedded_${name}:
    .incbin \"${file}\"
1:
    .balign 8
mha_embedded_${name}_size:
    .quad 1b - mha_embedded_${name}
    .section .note.GNU-stack,\"\",%progbits
")
  configure_file(${source}.in ${source} COPYONLY)
  set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${source})
endfunction()
