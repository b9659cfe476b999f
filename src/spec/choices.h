#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

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

}  // namespace tiletune
