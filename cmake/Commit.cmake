# cmake -DSOURCE=<folder> -DFILE=<commit.cpp> -P Commit.cmake: writes the commit that is built as a source file of its own,
# and leaves the file alone when that is what it says already. Runs in every build.
set(commit unknown)
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD
    OUTPUT_VARIABLE hash OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  execute_process(COMMAND git -C ${SOURCE} --no-optional-locks status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(failed EQUAL 0)
    set(commit ${hash})
    if(changes)
      string(APPEND commit -dirty)
    endif()
  endif()
endif()
set(text "namespace tiletune {\n\nextern const char* const kCommit;\nconst char* const kCommit = \"${commit}\";\n\n}  // namespace tiletune\n")
set(written "")
if(EXISTS ${FILE})
  file(READ ${FILE} written)
endif()
if(NOT written STREQUAL text)
  file(WRITE ${FILE} "${text}")
endif()
