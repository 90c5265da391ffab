# mha_commit(OUT): the commit of the sources: git's word in a clone; in an archive made by `git archive` what git wrote
# into cmake/commit.txt; else "unknown".
function(mha_commit out)
  set(commit "")
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
    execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=*
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  else()
    file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/commit.txt line)
    if(line MATCHES "^([0-9a-f]+)$")
      string(SUBSTRING ${line} 0 12 commit)
    endif()
  endif()
  if(NOT commit)
    set(commit unknown)
  endif()
  set(${out} ${commit} PARENT_SCOPE)
endfunction()
