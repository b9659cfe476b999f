# `cmake --install` and cpack: the executable, and the data that it finds from there (src/base/file.cpp), wherever both are
# moved to. CUDA's libraries are opened at run time, so that no package of NVIDIA's is named. A Python wheel (pyproject.toml)
# has the component "program" alone.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
install(TARGETS tiletune RUNTIME DESTINATION bin COMPONENT program)
install(DIRECTORY kernel_templates configs schemas DESTINATION share/tiletune COMPONENT program)
install(DIRECTORY python DESTINATION share/tiletune COMPONENT program FILES_MATCHING PATTERN "*.py")

# The documents, laid out as in the checkout: their links and the paths in their commands lead to files beside them. Tables of
# samples of the recorded runs are left out. tests/tools/install_test asks for what the documents name.
set(documents share/doc/tiletune)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${documents})
install(DIRECTORY docs examples DESTINATION ${documents} PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY results DESTINATION ${documents} FILES_MATCHING PATTERN "*.md" PATTERN "*.txt" PATTERN "*.best.json"
  PATTERN "report.html" PATTERN "quick.db" PATTERN "sgemm_dispatch.db.gz")
install(DIRECTORY tests/attacks tests/faults tests/launches DESTINATION ${documents}/tests USE_SOURCE_PERMISSIONS
  PATTERN "CMakeLists.txt" EXCLUDE)
install(DIRECTORY tests/data/benchmark_hub DESTINATION ${documents}/tests/data)
install(CODE "
  foreach(folder kernel_templates configs schemas)
    file(CREATE_LINK ../../tiletune/\${folder} \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${documents}/\${folder} SYMBOLIC)
  endforeach()")

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_CONTACT "The tiletune authors <tiletune@localhost.invalid>")  # a .deb must have one
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Kernels are compiled by NVRTC, which is not part of this package: install a CUDA toolkit,
12.4 or newer, or name the folder of libnvrtc in LD_LIBRARY_PATH. Measuring needs an
NVIDIA GPU and its driver.")
include(CPack)
