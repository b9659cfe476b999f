# `cmake --install` and cpack: the executable, and the data that it finds from there (src/base/paths.cpp), wherever both are
# moved to. CUDA's libraries are opened at run time, so that no package of NVIDIA's is named.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
install(TARGETS tiletune RUNTIME DESTINATION bin)
install(DIRECTORY kernel_templates configs schemas DESTINATION share/tiletune)
install(DIRECTORY python DESTINATION share/tiletune FILES_MATCHING PATTERN "*.py")
install(FILES README.md CHANGELOG.md DESTINATION share/doc/tiletune)
install(DIRECTORY docs DESTINATION share/doc/tiletune FILES_MATCHING PATTERN "*.md")

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_CONTACT "tiletune <root@localhost>")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Kernels are compiled by NVRTC, which is not part of this package: install a CUDA toolkit,
12.4 or newer, or name the folder of libnvrtc in LD_LIBRARY_PATH. Measuring needs an
NVIDIA GPU and its driver.")
include(CPack)
