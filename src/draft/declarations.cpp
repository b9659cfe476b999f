#include "draft/declarations.h"

#include <algorithm>
#include <set>

namespace tiletune {

namespace {

bool marks_device(const SourceToken& token) {
  static const std::set<std::string_view> kMarks{"__global__", "__device__", "__constant__", "__shared__",
                                                 "__managed__"};
  return kMarks.contains(token.text);
}

class DeclarationReader {
 public:
  explicit DeclarationReader(const SourceTokens& code) : code_(code) {}

  std::vector<Declaration> read() {
    std::vector<Declaration> declarations;
    for (std::size_t at = 0; at < code_.size();) {
      if (code_[at].is("}") || code_[at].is(";")) {
        if (code_[at].is("}") && !scopes_.empty()) scopes_.pop_back();
        ++at;
        continue;
      }
      Declaration one;
      one.begin = one.end = at;
      if (!scopes_.empty()) one.scope = scopes_.back();
      at = read_one(one);
      if (one.end > one.begin) declarations.push_back(one);
    }
    return declarations;
  }

 private:
  /// The place behind it, or behind the brace that opens a namespace.
  std::size_t read_one(Declaration& one) {
    bool assigned = false;
    std::size_t head = one.begin;
    for (std::size_t i = one.begin; i < code_.size(); ++i) {
      const SourceToken& token = code_[i];
      const bool in_template = token.is("template") && i + 1 < code_.size() && code_[i + 1].is("<");
      if (in_template || token.is("(") || token.is("[")) {
        if (token.is("(") && one.name.empty() && i > one.begin && code_[i - 1].is_name() &&
            !code_[i - 1].text.starts_with("__"))
          one.name = code_[i - 1].text;
        i = behind_bracket(code_, in_template ? i + 1 : i, code_.size()) - 1;
        if (in_template) head = i + 1;
      } else if (token.is(";")) {
        return finish(one, i + 1);
      } else if (token.is("{")) {
        if (opens_scope(head, i)) return i + 1;
        const bool is_body = !assigned && !one.name.empty() && !is_class(head, i);
        const std::size_t close = behind_bracket(code_, i, code_.size());
        one.is_function = is_body;
        if (is_body) return finish(one, close);
        i = close - 1;
      } else {
        assigned = assigned || token.is("=");
      }
    }
    return finish(one, code_.size());
  }

  std::size_t finish(Declaration& one, std::size_t end) const {
    one.end = end;
    std::size_t head = end;
    if (one.is_function)
      head = static_cast<std::size_t>(std::find_if(code_.begin() + static_cast<std::ptrdiff_t>(one.begin),
                                                   code_.begin() + static_cast<std::ptrdiff_t>(end),
                                                   [](const SourceToken& token) { return token.is("{"); }) -
                                      code_.begin());
    for (std::size_t i = one.begin; i < head; ++i) one.is_device = one.is_device || marks_device(code_[i]);
    return end;
  }

  /// namespace a::b {, extern "C" {
  bool opens_scope(std::size_t head, std::size_t brace) {
    const bool is_inline = code_[head].is("inline") && head + 1 < brace;
    const bool is_namespace = code_[head + (is_inline ? 1 : 0)].is("namespace");
    if (!is_namespace && (!code_[head].is("extern") || brace != head + 1)) return false;
    const std::string_view outer = scopes_.empty() ? "" : scopes_.back();
    const bool is_named = is_namespace && !code_[brace - 1].is("namespace");
    scopes_.push_back(is_named ? code_[brace - 1].text : outer);
    return true;
  }

  bool is_class(std::size_t head, std::size_t brace) const {
    static const std::set<std::string_view> kKeys{"class", "struct", "union", "enum"};
    return kKeys.contains(code_[head].text) && !code_[brace - 1].is(")");
  }

  const SourceTokens& code_;
  std::vector<std::string_view> scopes_;  ///< the innermost name at each brace
};

}  // namespace

std::vector<Declaration> read_declarations(const SourceTokens& code) {
  return DeclarationReader(code).read();
}

}  // namespace tiletune
