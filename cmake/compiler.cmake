add_library(mha_warnings INTERFACE)
target_compile_options(mha_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wno-missing-field-initializers)  # designated initializers omit members that keep their default
if(MHA_WERROR)
  target_compile_options(mha_warnings INTERFACE -Werror)
endif()

if(MHA_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
endif()

if(MHA_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -gline-tables-only)
endif()
