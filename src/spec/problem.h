#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// The names that problems may set: the type variables and options of an operation.
std::vector<std::string> setting_names(const Operation& operation);

/// What a problem sets of the types and options that have these names. Throws UserError.
Choices read_settings(const JsonNode& problem, const std::vector<std::string>& names);

/// A problem of the template's operation: "4096x4096x64 lda=128 layout=nt", 4096 or
/// {"M": 4096, "N": 4096, "K": 64, "lda": 128, "layout": "nt"}. `settings` are the names that read_settings()
/// reads. Throws UserError.
Problem read_problem(const JsonNode& node, const TemplateSpec& kernel,
                     const std::vector<std::string>& settings);

/// The sizes of a problem's text, then its leading dimensions: {"1000x77x513", "lda=520"}. At least one word.
std::vector<std::string> problem_words(const std::string& text);

/// The numbers of a problem's text as they are written, of whatever operation and in whatever range: {"1000",
/// "77", "80"} of "1000x77 lda=80". None for text that is not sizes and leading dimensions: it can only be a
/// name.
std::optional<std::vector<std::string>> written_sizes(const std::string& text);

/// Problems as given on the command line, checked like a config's.
std::vector<Problem> parse_problems(const std::vector<std::string>& texts, const TemplateSpec& kernel,
                                    const Where& where);

/// "1000x77, 2048x2048"; "5 problems" where there are too many to name.
std::string problems_text(const std::vector<Problem>& problems);

// Type variables and options, which `what` names in messages: "type variable", "option". Wherever they are
// written, it is as an object of texts or of lists of texts, which stands for every combination, or as a list
// of such objects.

/// What an operation lets templates choose, the default first.
struct Allowed {
  std::string name;
  std::vector<std::string> values;
};

/// What a manifest offers of an operation's choices, its default first: combinations with a text for each
/// choice, the operation's first where the manifest names none. Throws UserError.
std::vector<Choices> read_offered(const std::optional<JsonNode>& node, const std::vector<Allowed>& choices,
                                  const std::string& what);

/// What somebody asks for of what a template offers, in the order of asking: for each combination that is
/// written, the first one offered that has its texts and those of the settings, which a problem has. Where
/// nothing is asked for, the first one offered that has the settings. A combination that has another text
/// than a setting, or that is not offered with the settings, selects none. Throws UserError, with what is
/// offered, where there are no settings and none is offered.
std::vector<Choices> select_offered(const std::optional<JsonNode>& asked, const Choices& settings,
                                    const std::vector<Choices>& offered, const std::string& what,
                                    const std::string& template_name);

/// "T=f16 causal=no"
std::string choices_text(const Choices& choices);

/// What distinguishes a variant among those that an operation is offered in: "T=f16 causal=no". Empty where
/// there is one.
std::string variant_text(const Variant& variant, const Operation& offered);

/// Reads the list of configurations that a config names, and gives each template its own rows, the same in
/// all its variants. The file is CSV: the header names parameters, and `template` where there are several
/// templates; every row gives a value of each parameter of its template, and nothing for those of others.
/// Throws UserError with the line of a value that its parameter does not have, of a row that is listed twice,
/// and of a header that does not name each parameter once; and for a template without rows.
void read_configurations(const JsonNode& node, const std::filesystem::path& folder, bool allow_outside,
                         std::vector<TemplateSpec>& specs);

/// A problem as a config would list it, and where it stands.
struct ListedProblem {
  nlohmann::ordered_json json;
  Where where;
};

/// Reads a list of problems: JSON, which is a list as in a config, or CSV, whose header names dimensions,
/// leading dimensions, types and options, and whose rows are problems. Cells under `settings`, the names of
/// types and options, are text, others are numbers; an empty cell says nothing. Throws UserError with the
/// line or the JSON pointer of what cannot be read; what a problem says is not checked.
std::vector<ListedProblem> read_problem_file(const std::filesystem::path& file,
                                             const std::vector<std::string>& settings);

}  // namespace tiletune
