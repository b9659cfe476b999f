# tiletune_embed(<source> <name> <file> [<name> <file> ...]): writes a source file of the build with the text of each file,
# tiletune::<name>, which its user declares as: extern const std::string_view <name>;
function(tiletune_embed source)
  set(AT "@")
  set(code "#include <string_view>\n\nnamespace tiletune {\n\n")
  while(ARGN)
    list(POP_FRONT ARGN name file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REPLACE "@" "@AT@" text "${text}")  # what stands between two of them is replaced below
    string(APPEND code "extern const std::string_view ${name};\n"
      "const std::string_view ${name} = R\"tiletune(${text})tiletune\";\n\n")
  endwhile()
  file(CONFIGURE OUTPUT ${source} CONTENT "${code}}  // namespace tiletune\n" @ONLY)
endfunction()
