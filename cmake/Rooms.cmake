if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old: tiletune needs 12 or newer (CXX=g++-12)")
endif()

find_program(TILETUNE_CCACHE ccache DOC "Compiler cache; used when it is there")
if(TILETUNE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TILETUNE_CCACHE})
endif()

# tiletune_room(<name> DEPENDS <rooms> LINK <targets> SOURCES <files>): one static library per room of the architecture.
add_library(tiletune_options INTERFACE)
target_compile_options(tiletune_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
target_include_directories(tiletune_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
if(CMAKE_UNITY_BUILD)
  # g++ takes a source file of a unity build for a header, where unnamed namespaces would be a mistake.
  target_compile_options(tiletune_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(TILETUNE_SANITIZE)
  target_compile_options(tiletune_options INTERFACE -fsanitize=${TILETUNE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  # g++ sees uninitialized members of the standard library where instrumentation keeps it from following them.
  target_compile_options(tiletune_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(tiletune_options INTERFACE -fsanitize=${TILETUNE_SANITIZE})
endif()
if(TILETUNE_FUZZ)
  # Counts what is reached, for the fuzzer; harmless in other executables.
  target_compile_options(tiletune_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Optimising what sanitizers have instrumented takes two thirds of the time to compile it. Only libraries whose code the
# tests run millions of times are worth it.
function(tiletune_optimise_where_it_pays target)
  if(TILETUNE_SANITIZE AND NOT target MATCHES "^tiletune_(base|spec|space|inspect|store)$")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

function(tiletune_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;LINK;SOURCES" ${ARGN})
  add_library(tiletune_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(tiletune_${name} PUBLIC tiletune_options)
  foreach(dependency IN LISTS ROOM_DEPENDS)
    target_link_libraries(tiletune_${name} PUBLIC tiletune_${dependency})
  endforeach()
  target_link_libraries(tiletune_${name} PUBLIC ${ROOM_LINK})
  tiletune_optimise_where_it_pays(tiletune_${name})
endfunction()

# tiletune_tests(<room> SOURCES <files>): the GoogleTest executable test_<room>. Its files are compiled one by one even in
# a unity build: they may all name their helpers alike.
function(tiletune_tests room)
  cmake_parse_arguments(TESTS "" "" "LINK;SOURCES" ${ARGN})
  add_executable(test_${room} ${TESTS_SOURCES})
  set_target_properties(test_${room} PROPERTIES UNITY_BUILD OFF)
  if(TARGET tiletune_${room})
    target_link_libraries(test_${room} PRIVATE tiletune_${room})
  endif()
  target_link_libraries(test_${room} PRIVATE ${TESTS_LINK} GTest::gtest_main)
  # Half of the time to build a test goes into these headers, and half of the rest into optimising what runs once.
  target_precompile_headers(test_${room} REUSE_FROM tiletune_test_headers)
  target_compile_options(test_${room} PRIVATE -O0)
  target_include_directories(test_${room} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${room} PRIVATE TILETUNE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    TILETUNE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  gtest_discover_tests(test_${room} TEST_PREFIX ${room}. DISCOVERY_TIMEOUT 60)
endfunction()
