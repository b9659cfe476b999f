# The page of `tiletune report` as two texts, TILETUNE_PAGE_BEFORE_DATA and TILETUNE_PAGE_AFTER_DATA: page.html with its
# style and scripts put in. Its charts are drawn by Vega from Debian's or Ubuntu's package libjs-vega; where that is
# missing, pages have tables in their place, and TILETUNE_PAGE_HAS_CHARTS is false.
set(TILETUNE_VEGA_FOLDER /usr/share/javascript/vega CACHE PATH "Folder of Vega's modules (package libjs-vega)")
set(TILETUNE_VEGA_LICENCE /usr/share/doc/libjs-vega/copyright CACHE FILEPATH "Terms that go with Vega into a page")

# Vega's modules that the charts need, each after those it requires; those for maps, trees, words and so on are left out.
set(tiletune_vega_modules vega-util vega-time vega-format vega-loader vega-statistics vega-dataflow vega-canvas
  vega-scale vega-scenegraph vega-encode vega-transforms vega-view-transforms vega-runtime vega-expression
  vega-selection vega-functions vega-view vega-event-selector vega-parser vega-interpreter)

# Sets TILETUNE_PAGE_VEGA: the modules as functions that vega.js calls, or nothing.
function(tiletune_read_vega)
  set(text "")
  foreach(module IN LISTS tiletune_vega_modules)
    set(file ${TILETUNE_VEGA_FOLDER}/${module}.min.js)
    if(NOT EXISTS ${file})
      message(STATUS "No ${file}: pages of 'tiletune report' will have tables in place of charts "
        "(Debian, Ubuntu: apt-get install libjs-vega)")
      set(TILETUNE_PAGE_VEGA "" PARENT_SCOPE)
      return()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} code)
    # A browser's developer tools would ask for what this line names.
    string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" code "${code}")
    string(REPLACE "</script" "<\\/script" code "${code}")
    string(APPEND text "vegaModule('${module}', function (exports, module, require) {\n${code}\n});\n")
  endforeach()
  set(TILETUNE_PAGE_VEGA "${text}" PARENT_SCOPE)
endfunction()

function(tiletune_report_page folder)
  set(files page.html page.css vega.js data.js dom.js table.js charts.js sections.js comparison.js main.js)
  list(TRANSFORM files PREPEND ${folder}/)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  tiletune_read_vega()
  set(TILETUNE_PAGE_HAS_CHARTS true)
  set(TILETUNE_PAGE_LICENCE "")
  if(EXISTS ${TILETUNE_VEGA_LICENCE})
    file(READ ${TILETUNE_VEGA_LICENCE} TILETUNE_PAGE_LICENCE)
  endif()
  if(NOT TILETUNE_PAGE_VEGA)
    set(TILETUNE_PAGE_HAS_CHARTS false)
  endif()
  file(READ ${folder}/vega.js code)
  string(PREPEND TILETUNE_PAGE_VEGA "${code}\n")
  file(READ ${folder}/page.css TILETUNE_PAGE_STYLE)
  set(TILETUNE_PAGE_SCRIPT "")
  foreach(script data dom table charts sections comparison main)
    file(READ ${folder}/${script}.js code)
    string(APPEND TILETUNE_PAGE_SCRIPT "${code}\n")
  endforeach()
  file(READ ${folder}/page.html page)
  string(CONFIGURE "${page}" page @ONLY)
  string(FIND "${page}" "{{data}}" place)
  string(LENGTH "{{data}}" length)
  string(SUBSTRING "${page}" 0 ${place} before)
  math(EXPR after_place "${place} + ${length}")
  string(SUBSTRING "${page}" ${after_place} -1 after)
  set(TILETUNE_PAGE_BEFORE_DATA "${before}" PARENT_SCOPE)
  set(TILETUNE_PAGE_AFTER_DATA "${after}" PARENT_SCOPE)
  set(TILETUNE_PAGE_HAS_CHARTS ${TILETUNE_PAGE_HAS_CHARTS} PARENT_SCOPE)
endfunction()
