#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "author/source_facts.h"

namespace tiletune {

namespace {

constexpr std::size_t kLongestExpression = 200;  // tokens

/// What an expression makes of an array's element.
struct Flow {
  IndexForm form = IndexForm::whole;
  std::string factor;
};

/// The flow of what another flow makes of an element.
Flow behind(const Flow& first, const Flow& second) {
  if (first.form == IndexForm::whole) return second;
  if (second.form == IndexForm::whole) return first;
  const bool adds = second.form == IndexForm::sum && first.form != IndexForm::other;
  return adds ? first : Flow{IndexForm::other, ""};
}

/// The flow of one element that flows in two ways.
Flow either(const Flow& a, const Flow& b) {
  if (a.form == b.form && a.factor == b.factor) return a;
  const bool are_sums = (a.form == IndexForm::whole || a.form == IndexForm::sum) &&
                        (b.form == IndexForm::whole || b.form == IndexForm::sum);
  return {are_sums ? IndexForm::sum : IndexForm::other, ""};
}

/// By array.
using Flows = std::map<std::string, Flow>;

class IndexReader {
 public:
  IndexReader(const TokenRange& body, const std::vector<std::string>& pointers)
      : code_(body), pointers_(pointers.begin(), pointers.end()) {}

  IndexFacts read() {
    for (std::size_t i = code_.begin(); i < code_.end(); ++i) {
      if (!is_variable(i)) continue;
      if (const auto bound = code_.bound_of(i); !bound.empty()) bounds_.try_emplace(code_.text(i), bound);
      if (code_.is(i + 1, "[")) {
        note_subscript(i);
      } else if (code_.is(i + 1, "=")) {
        note_assignment(i, i + 2);
      } else if (is_pointer(i) && code_.is(i + 1, "+")) {
        note_uses(i, operand(i + 2));
      }
    }
    for (const auto& [array, texts] : subscripts_) {
      for (const std::string& text : texts) {
        if (!texts.contains(text + " + 1") && !texts.contains("1 + " + text)) continue;
        const auto bound = bounds_.find(text);
        facts_.neighbours.emplace(array, bound == bounds_.end() ? "" : std::string(bound->second));
        break;
      }
    }
    return std::move(facts_);
  }

 private:
  bool is_pointer(std::size_t at) const { return pointers_.contains(code_.text(at)); }

  /// A name that is neither a member of something nor called.
  bool is_variable(std::size_t at) const {
    return code_.is_name(at) && !code_.is(at + 1, "(") && !code_.is_member(at);
  }

  /// What stands before a bracket that was not opened in it closes, or a comma or semicolon ends it.
  TokenRange operand(std::size_t at) const {
    int depth = 0;
    const std::size_t last = std::min(code_.end(), at + kLongestExpression);
    std::size_t end = at;
    for (; end < last; ++end) {
      depth += depth_change(code_.text(end), false);
      if (depth < 0 || (depth == 0 && code_.is(end, ", ;"))) break;
    }
    return code_.part(at, end);
  }

  /// What operators outside of nested subscripts, other than those of casts and addresses, make of an operand
  /// that is not multiplied.
  static IndexForm form_of(const TokenRange& part) {
    IndexForm form = IndexForm::whole;
    for (std::size_t i = part.begin(); i < part.end(); ++i) {
      // A mask; otherwise the address of something.
      const bool masks = part.is(i, "&") && (part.is(i - 1, ") ]") || part.is_word(i - 1));
      const bool shifts = part.is(i, "< >") && part.is(i + 1, part.text(i));
      if (masks || shifts || part.is(i, "/ % | ^ ? ~ ! && || , -")) return IndexForm::other;
      if (part.is(i, "+")) form = IndexForm::sum;
      if (part.is(i, "[")) i = part.behind_bracket(i) - 1;
    }
    return form;
  }

  /// What the operand [first, next) is multiplied by; "" where it is not; none where that is no name or
  /// number.
  static std::optional<std::string> factor_of(const TokenRange& part, std::size_t first, std::size_t next) {
    const std::size_t behind = part.behind_closing(next);
    const std::size_t before = part.before_opening(first);
    std::size_t factor = behind + 1;
    if (part.is(behind, "*")) {
      if (!part.is_word(factor) || part.is(factor + 1, "*")) return std::nullopt;
    } else {
      factor = before - 2;
      if (!part.fits(factor, {"#", "*"})) return "";
      if (part.is(factor - 1, "*")) return std::nullopt;
    }
    return std::string(part.text(factor));
  }

  /// Elements of parameters in an expression, but not those in nested subscripts.
  Flows flows_in(const TokenRange& part) const {
    Flows flows;
    const IndexForm form = form_of(part);
    for (std::size_t i = part.begin(); i < part.end(); ++i) {
      if (part.is(i, "[")) {
        i = part.behind_bracket(i) - 1;
        continue;
      }
      if (!is_variable(i)) continue;
      const std::size_t next = std::min(part.end(), code_.behind_subscripts(i, kLongestExpression));
      const auto factor = factor_of(part, i, next);
      Flow here{form, ""};
      if (!factor || (form == IndexForm::other && !factor->empty()))
        here.form = IndexForm::other;
      else if (!factor->empty())
        here = {IndexForm::scaled, *factor};
      // What a variable or an element of it holds.
      const auto held = held_.find(code_.text(i));
      const Flows own = is_pointer(i)         ? Flows{{std::string(code_.text(i)), {}}}
                        : held == held_.end() ? Flows{}
                                              : held->second;
      for (const auto& [array, flow] : own) {
        const Flow whole = behind(flow, here);
        const auto [known, is_new] = flows.try_emplace(array, whole);
        if (!is_new) known->second = {IndexForm::other, ""};
      }
      i = next - 1;
    }
    return flows;
  }

  void note_assignment(std::size_t name, std::size_t value) {
    if (is_pointer(name)) return;
    Flows& held = held_[code_.text(name)];
    for (const auto& [array, flow] : flows_in(operand(value))) {
      const auto [known, is_new] = held.try_emplace(array, flow);
      if (!is_new) known->second = either(known->second, flow);
    }
  }

  void note_subscript(std::size_t name) {
    const std::size_t close = code_.behind_bracket(name + 1, name + 1 + kLongestExpression) - 1;
    const TokenRange index = code_.part(name + 2, close);
    note_uses(name, index);
    if (is_pointer(name)) subscripts_[std::string(code_.text(name))].insert(index.spaced_text());
    const std::size_t next = code_.behind_subscripts(name, kLongestExpression);
    if (code_.is(next, "=")) note_assignment(name, next + 1);
  }

  void note_uses(std::size_t name, const TokenRange& index) {
    const std::string indexed(code_.text(name));
    // In `row = x + ...` and `row = &x[...]`, after which `row` has an index of its own.
    const bool is_kept =
        code_.is(name - 1, "=") ? !code_.is(name + 1, "[") : code_.fits(name - 2, {"=", "&"});
    for (const auto& [array, direct] : flows_in(index)) {
      const Flow flow = is_kept ? behind(direct, {IndexForm::sum, ""}) : direct;
      const auto known = std::ranges::find_if(facts_.uses, [&, array = array](const IndexUse& use) {
        return use.array == array && use.indexed == indexed;
      });
      if (known == facts_.uses.end()) {
        facts_.uses.push_back({array, indexed, flow.form, flow.factor, code_[name].line});
        continue;
      }
      const Flow both = either({known->form, known->factor}, flow);
      known->form = both.form;
      known->factor = both.factor;
    }
  }

  TokenRange code_;
  std::set<std::string, std::less<>> pointers_;
  IndexFacts facts_;
  std::map<std::string_view, Flows> held_;
  std::map<std::string_view, std::string_view> bounds_;
  std::map<std::string, std::set<std::string>> subscripts_;  ///< of parameters, their texts
};

}  // namespace

IndexFacts read_index_uses(const TokenRange& body, const std::vector<std::string>& pointers) {
  return IndexReader(body, pointers).read();
}

}  // namespace tiletune
