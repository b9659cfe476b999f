#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compile/source.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// The files that a kernel is compiled from.
struct SourceFiles {
  std::map<std::string, std::string> texts;  ///< of the source and its own headers, by KernelSource's names
  /// What else is included: the toolkit's headers, and those that tiletune supplies.
  std::set<std::string> not_found;
};

/// The source of a template, which finds its own headers as where it is swept.
KernelSource template_source(const TemplateSpec& spec);

/// The names in a text's #include lines, whatever conditions stand around them.
std::vector<std::string> included_names(const std::string& text);

/// Reads a source and what it includes of its folders.
SourceFiles source_files(const KernelSource& source);

}  // namespace tiletune
