# Finds the CUDA headers and NVRTC, version 12.4 or newer: in TILETUNE_CUDA_ROOT when that is set, else in the toolkit of
# CMake's FindCUDAToolkit, under /usr/local/cuda, or where tools/quickstart unpacked NVIDIA's PyPI wheels (build/cuda);
# the first complete one is taken. NVRTC, libcuda, NVML and cuBLAS are loaded at run time; what is built needs headers.
#
# Defines the target tiletune::cuda_headers, for tests tiletune::nvrtc, and
#   TILETUNE_CUDA_INCLUDE     the folder of cuda_fp16.h and so on, for kernels that NVRTC compiles at run time
#   TILETUNE_CUDA_LIB_FOLDER  the folder of libnvrtc and, where it is installed, libcublas
set(TILETUNE_CUDA_ROOT "" CACHE PATH "Folder with include/ and lib64/ or lib/ of a CUDA toolkit; empty: find one")
set(tiletune_cuda_minimum 12040)  # as cuda.h's CUDA_VERSION spells 12.4
set(tiletune_cuda_headers_needed cuda.h nvrtc.h cuda_occupancy.h cuda_fp16.h cublas_v2.h cublasLt.h crt/host_defines.h)

# Looks at one root. Sets <prefix>_INCLUDE, <prefix>_NVRTC and <prefix>_VERSION, and <prefix>_REASON when it will not do.
# Nothing is cached: another toolkit is noticed at the next configure.
function(tiletune_look_for_cuda root prefix)
  set(target_folder targets/${CMAKE_SYSTEM_PROCESSOR}-linux)
  find_path(include cuda.h PATHS ${root} PATH_SUFFIXES include ${target_folder}/include NO_DEFAULT_PATH NO_CACHE)
  # Wheels hold no libnvrtc.so, only the versioned name.
  find_library(nvrtc NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 PATHS ${root}
    PATH_SUFFIXES lib64 lib ${target_folder}/lib lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH NO_CACHE)
  string(REGEX REPLACE "/$" "" include "${include}")
  set(missing "")
  foreach(header IN LISTS tiletune_cuda_headers_needed)
    if(NOT EXISTS ${include}/${header})
      list(APPEND missing ${header})
    endif()
  endforeach()
  if(NOT nvrtc)
    list(APPEND missing libnvrtc)
  endif()
  set(version 0)
  if(include)
    file(STRINGS ${include}/cuda.h line REGEX "^#define CUDA_VERSION +[0-9]+")
    string(REGEX MATCH "[0-9]+$" version "${line}")
  endif()
  math(EXPR major "${version} / 1000")
  math(EXPR minor "${version} % 1000 / 10")

  set(${prefix}_REASON "" PARENT_SCOPE)
  if(NOT include)
    set(${prefix}_REASON "holds no cuda.h" PARENT_SCOPE)
  elseif(missing)
    list(JOIN missing ", " missing)
    set(${prefix}_REASON "lacks ${missing}" PARENT_SCOPE)
  elseif(version LESS tiletune_cuda_minimum)
    set(${prefix}_REASON "is CUDA ${major}.${minor}, older than 12.4" PARENT_SCOPE)
  endif()
  set(${prefix}_INCLUDE ${include} PARENT_SCOPE)
  set(${prefix}_NVRTC ${nvrtc} PARENT_SCOPE)
  set(${prefix}_VERSION ${major}.${minor} PARENT_SCOPE)
endfunction()

# The file tools/setup reads to know that a configure failed for want of a toolkit and nothing else.
set(tiletune_no_cuda_mark ${PROJECT_BINARY_DIR}/no_cuda_toolkit)
file(REMOVE ${tiletune_no_cuda_mark})

if(TILETUNE_CUDA_ROOT)
  set(tiletune_cuda_roots ${TILETUNE_CUDA_ROOT})
else()
  find_package(CUDAToolkit QUIET)
  set(tiletune_cuda_roots ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_ROOT} /usr/local/cuda
    ${PROJECT_SOURCE_DIR}/build/cuda)
  list(REMOVE_DUPLICATES tiletune_cuda_roots)
endif()

set(tiletune_cuda_tried "")
foreach(root IN LISTS tiletune_cuda_roots)
  tiletune_look_for_cuda(${root} tiletune_cuda)
  if(NOT tiletune_cuda_REASON)
    break()
  endif()
  string(APPEND tiletune_cuda_tried "\n  ${root} ${tiletune_cuda_REASON}")
endforeach()
if(tiletune_cuda_REASON)
  if(NOT TILETUNE_CUDA_ROOT)
    file(TOUCH ${tiletune_no_cuda_mark})
  endif()
  message(FATAL_ERROR "No usable CUDA toolkit found:${tiletune_cuda_tried}\n"
    "Install CUDA 12.4 or newer, or pass -DTILETUNE_CUDA_ROOT=<folder of a toolkit>, or run tools/quickstart, "
    "which takes the parts it needs from NVIDIA's PyPI wheels.")
endif()
set(TILETUNE_CUDA_INCLUDE ${tiletune_cuda_INCLUDE})
get_filename_component(TILETUNE_CUDA_LIB_FOLDER ${tiletune_cuda_NVRTC} DIRECTORY)
message(STATUS "CUDA ${tiletune_cuda_VERSION}: headers ${TILETUNE_CUDA_INCLUDE}, NVRTC ${tiletune_cuda_NVRTC}")

add_library(tiletune_cuda_headers INTERFACE)
target_include_directories(tiletune_cuda_headers SYSTEM INTERFACE ${TILETUNE_CUDA_INCLUDE})
add_library(tiletune::cuda_headers ALIAS tiletune_cuda_headers)

add_library(tiletune_nvrtc SHARED IMPORTED)
set_target_properties(tiletune_nvrtc PROPERTIES IMPORTED_LOCATION ${tiletune_cuda_NVRTC})
# NVRTC opens its builtins library by name, and only an executable's old-style RPATH (not RUNPATH) holds for libraries
# that a library opens.
target_link_options(tiletune_nvrtc INTERFACE LINKER:--disable-new-dtags)
add_library(tiletune::nvrtc ALIAS tiletune_nvrtc)
