# Finds the CUDA headers and NVRTC: in TILETUNE_CUDA_ROOT, in the toolkit of CMake's FindCUDAToolkit, under
# /usr/local/cuda, or where tools/quickstart unpacked NVIDIA's PyPI wheels (build/cuda). Defines tiletune::cuda_headers
# and tiletune::nvrtc. libcuda, NVML and cuBLAS are loaded at run time and need nothing here but headers.
set(TILETUNE_CUDA_ROOT "" CACHE PATH "Folder with include/ and lib64/ or lib/ of a CUDA toolkit; empty: find one")

if(NOT TILETUNE_CUDA_ROOT)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    list(GET CUDAToolkit_INCLUDE_DIRS 0 cuda_first_include)
    set(cuda_roots ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_ROOT} ${cuda_first_include}/..)
  endif()
  list(APPEND cuda_roots /usr/local/cuda ${PROJECT_SOURCE_DIR}/build/cuda)
else()
  set(cuda_roots ${TILETUNE_CUDA_ROOT})
endif()

find_path(TILETUNE_CUDA_INCLUDE cuda.h HINTS ${cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_path(TILETUNE_NVRTC_INCLUDE nvrtc.h HINTS ${cuda_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(TILETUNE_NVRTC_LIBRARY NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 HINTS ${cuda_roots}
  PATH_SUFFIXES lib64 lib lib/x64 NO_DEFAULT_PATH)
if(NOT TILETUNE_CUDA_INCLUDE OR NOT TILETUNE_NVRTC_INCLUDE OR NOT TILETUNE_NVRTC_LIBRARY)
  message(FATAL_ERROR "No CUDA toolkit found (looked for cuda.h, nvrtc.h and libnvrtc in: ${cuda_roots}).\n"
    "Install CUDA 12.4 or newer, or pass -DTILETUNE_CUDA_ROOT=<folder>, or run tools/quickstart, "
    "which takes the parts it needs from NVIDIA's PyPI wheels.")
endif()
message(STATUS "CUDA headers: ${TILETUNE_CUDA_INCLUDE}")
message(STATUS "NVRTC: ${TILETUNE_NVRTC_LIBRARY}")

get_filename_component(TILETUNE_NVRTC_FOLDER ${TILETUNE_NVRTC_LIBRARY} DIRECTORY)
add_library(tiletune_cuda_headers INTERFACE)
target_include_directories(tiletune_cuda_headers SYSTEM INTERFACE ${TILETUNE_CUDA_INCLUDE} ${TILETUNE_NVRTC_INCLUDE})
target_compile_definitions(tiletune_cuda_headers INTERFACE TILETUNE_CUDA_LIB_FOLDER="${TILETUNE_NVRTC_FOLDER}")
add_library(tiletune::cuda_headers ALIAS tiletune_cuda_headers)

add_library(tiletune_nvrtc SHARED IMPORTED)
set_target_properties(tiletune_nvrtc PROPERTIES IMPORTED_LOCATION ${TILETUNE_NVRTC_LIBRARY})
add_library(tiletune::nvrtc ALIAS tiletune_nvrtc)
list(APPEND CMAKE_BUILD_RPATH ${TILETUNE_NVRTC_FOLDER})
