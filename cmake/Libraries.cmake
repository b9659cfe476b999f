if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} is too old: tiletune needs 12 or newer (CXX=g++-12)")
endif()

find_program(TILETUNE_CCACHE ccache DOC "Compiler cache; used when it is there")
if(TILETUNE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TILETUNE_CCACHE})
endif()

# Libraries of headers alone, which come without a CMake package: targets by which a library of src/ declares that it uses
# them.
function(tiletune_headers name header)
  find_path(TILETUNE_${name}_INCLUDE ${header} REQUIRED DOC "Folder of <${header}>")
  add_library(tiletune_${name} INTERFACE)
  target_include_directories(tiletune_${name} SYSTEM INTERFACE ${TILETUNE_${name}_INCLUDE})
  add_library(tiletune::${name} ALIAS tiletune_${name})
endfunction()
tiletune_headers(rapidjson rapidjson/document.h)
tiletune_headers(xxhash xxhash.h)

add_library(tiletune_options INTERFACE)
target_compile_options(tiletune_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
target_include_directories(tiletune_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
if(CMAKE_UNITY_BUILD)
  # g++ takes a source file of a unity build for a header, where unnamed namespaces would be a mistake, and compares names of
  # different sources. In so much code it also sees uninitialized members of the standard library that it follows otherwise.
  target_compile_options(tiletune_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;-Wno-shadow;-Wno-maybe-uninitialized>)
endif()
if(TILETUNE_SANITIZE)
  target_compile_options(tiletune_options INTERFACE -fsanitize=${TILETUNE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  # g++ sees uninitialized members of the standard library where instrumentation keeps it from following them.
  target_compile_options(tiletune_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(tiletune_options INTERFACE -fsanitize=${TILETUNE_SANITIZE})
  # Lets tests that limit time or descriptors allow for what instrumentation costs.
  target_compile_definitions(tiletune_options INTERFACE TILETUNE_SANITIZED)
endif()
if(TILETUNE_FUZZ)
  # Counts what is reached, for the fuzzer; harmless in other executables.
  target_compile_options(tiletune_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Optimising what sanitizers have instrumented takes two thirds of the time to compile it. Only libraries whose code the
# tests run millions of times are worth it.
function(tiletune_optimise_where_it_pays target)
  if(TILETUNE_SANITIZE AND NOT target MATCHES "^tiletune_(base|spec|space|search|inspect|store)$")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Compiles and links a folder of src/: its sources, and SOURCES that the build makes. DEPENDS names the libraries of tiletune
# that they include, LINK the targets of other projects. tools/check_layers reads both from the call and compares them with
# the includes.
function(tiletune_link target)
  cmake_parse_arguments(ARGUMENTS "" "" "DEPENDS;LINK;SOURCES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  target_sources(${target} PRIVATE ${sources} ${ARGUMENTS_SOURCES})
  list(TRANSFORM ARGUMENTS_DEPENDS PREPEND tiletune_)
  target_link_libraries(${target} PUBLIC tiletune_options ${ARGUMENTS_DEPENDS} ${ARGUMENTS_LINK})
  tiletune_optimise_where_it_pays(${target})
endfunction()

# tiletune_library(<name> DEPENDS <libraries> LINK <targets>): the static library tiletune_<name>.
function(tiletune_library name)
  add_library(tiletune_${name} STATIC)
  tiletune_link(tiletune_${name} ${ARGN})
endfunction()

# tiletune_program(<name> DEPENDS <libraries> LINK <targets>): an executable.
function(tiletune_program name)
  add_executable(${name})
  tiletune_link(${name} ${ARGN})
endfunction()

# tiletune_tests(<library> LINK <targets> SOURCES <files> TOGETHER <suites>): the GoogleTest executable test_<library> of the
# folder's *_test.cpp and further files. A unity build compiles several together, so the names of a file are in a namespace
# called like the file. Each test has a process of its own, but for those of suites that take long to set up (TOGETHER).
function(tiletune_tests library)
  cmake_parse_arguments(TESTS "" "" "LINK;SOURCES;TOGETHER" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  add_executable(test_${library} ${sources} ${TESTS_SOURCES})
  if(TARGET tiletune_${library})
    target_link_libraries(test_${library} PRIVATE tiletune_${library})
  endif()
  target_link_libraries(test_${library} PRIVATE ${TESTS_LINK} GTest::gtest_main)
  # Half of the time to build a test would go into optimising what runs once.
  target_compile_options(test_${library} PRIVATE -O0)
  target_include_directories(test_${library} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${library} PRIVATE TILETUNE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    TILETUNE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  foreach(suite ${TESTS_TOGETHER})
    add_test(NAME ${library}.${suite} COMMAND test_${library} --gtest_filter=${suite}.*)
  endforeach()
  list(TRANSFORM TESTS_TOGETHER APPEND ".*")
  list(JOIN TESTS_TOGETHER ":" together)
  gtest_discover_tests(test_${library} TEST_PREFIX ${library}. DISCOVERY_TIMEOUT 60 TEST_FILTER "-${together}")
endfunction()
