#include "draft/index_uses.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

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

/// Of one element that flows in two ways.
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
  IndexReader(const SourceTokens& code, std::size_t begin, std::size_t end,
              const std::vector<std::string>& pointers)
      : code_(code), begin_(begin), end_(end), pointers_(pointers.begin(), pointers.end()) {}

  IndexFacts read() {
    for (std::size_t i = begin_; i < end_; ++i) {
      if (!is_variable(i)) continue;
      note_bound(i);
      if (is_open(i + 1)) {
        note_subscript(i);
      } else if (i + 2 < end_ && code_[i + 1].is("=")) {
        note_assignment(i, i + 2);
      } else if (is_pointer(i) && i + 2 < end_ && code_[i + 1].is("+")) {
        note_uses(i, i + 2, end_of_operand(i + 2));
      }
    }
    note_neighbours();
    return std::move(facts_);
  }

 private:
  bool is_open(std::size_t at) const { return at < end_ && code_[at].is("["); }
  bool is_pointer(std::size_t at) const { return pointers_.contains(code_[at].text); }

  /// A name that is neither a member of something nor called.
  bool is_variable(std::size_t at) const {
    if (!code_[at].is_name() || (at + 1 < end_ && code_[at + 1].is("("))) return false;
    return at == begin_ || (!code_[at - 1].is(".") && !code_[at - 1].is("->"));
  }

  std::size_t limit(std::size_t at) const { return std::min(end_, at + kLongestExpression); }

  /// The place behind all subscripts of a name, of which one that is not closed soon is the last.
  std::size_t behind_subscripts(std::size_t at) const {
    std::size_t next = at + 1;
    while (is_open(next)) {
      next = behind_bracket(code_, next, limit(next));
      if (!code_[next - 1].is("]")) break;
    }
    return next;
  }

  /// Where a bracket that was not opened here closes, or a comma or semicolon ends the expression.
  std::size_t end_of_operand(std::size_t at) const {
    int depth = 0;
    const std::size_t last = limit(at);
    for (std::size_t i = at; i < last; ++i) {
      const std::string_view text = code_[i].text;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if (text == ")" || text == "]" || text == "}") --depth;
      if (depth < 0 || (depth == 0 && (text == "," || text == ";"))) return i;
    }
    return last;
  }

  /// Operators outside of nested subscripts, other than those of casts and addresses.
  struct Operators {
    bool adds = false;
    bool others = false;
  };

  Operators operators_in(std::size_t begin, std::size_t end) const {
    static constexpr std::array<std::string_view, 11> kOthers{"/", "%",  "|",  "^", "?", "~",
                                                              "!", "&&", "||", ",", "-"};
    Operators found;
    for (std::size_t i = begin; i < end; ++i) {
      if (code_[i].is("[")) {
        i = behind_bracket(code_, i, end) - 1;
        continue;
      }
      const std::string_view text = code_[i].text;
      // A mask; otherwise the address of something.
      const bool masks =
          text == "&" && i > begin &&
          (code_[i - 1].is(")") || code_[i - 1].is("]") || code_[i - 1].kind != SourceToken::Kind::symbol);
      const bool shifts = i + 1 < end && (text == "<" || text == ">") && code_[i + 1].is(text);
      found.adds = found.adds || text == "+";
      found.others = found.others || masks || shifts || std::ranges::find(kOthers, text) != kOthers.end();
    }
    return found;
  }

  /// What the operand is multiplied by; "" where it is not; none where that is no name or number.
  std::optional<std::string> factor_of(std::size_t begin, std::size_t first, std::size_t next,
                                       std::size_t end) const {
    std::size_t behind = next;
    while (behind < end && code_[behind].is(")")) ++behind;
    if (behind < end && code_[behind].is("*")) {
      const bool is_simple = behind + 1 < end && code_[behind + 1].kind != SourceToken::Kind::symbol &&
                             (behind + 2 >= end || !code_[behind + 2].is("*"));
      if (!is_simple) return std::nullopt;
      return std::string(code_[behind + 1].text);
    }
    std::size_t before = first;
    while (before > begin && code_[before - 1].is("(")) --before;
    const bool multiplies = before > begin + 1 && code_[before - 1].is("*") &&
                            code_[before - 2].kind != SourceToken::Kind::symbol;
    if (!multiplies) return "";
    if (before > begin + 2 && code_[before - 3].is("*")) return std::nullopt;
    return std::string(code_[before - 2].text);
  }

  /// Elements of parameters in an expression, but not those in nested subscripts.
  Flows flows_in(std::size_t begin, std::size_t end) const {
    Flows flows;
    const Operators operators = operators_in(begin, end);
    for (std::size_t i = begin; i < end; ++i) {
      if (code_[i].is("[")) {
        i = behind_bracket(code_, i, end) - 1;
        continue;
      }
      if (!is_variable(i)) continue;
      const std::size_t next = std::min(end, behind_subscripts(i));
      Flow here{operators.others ? IndexForm::other : operators.adds ? IndexForm::sum : IndexForm::whole, ""};
      const auto factor = factor_of(begin, i, next, end);
      if (!factor || (operators.others && !factor->empty()))
        here = {IndexForm::other, ""};
      else if (!factor->empty())
        here = {IndexForm::scaled, *factor};
      for (const auto& [array, flow] : flows_of(i)) {
        const Flow whole = behind(flow, here);
        const auto [known, is_new] = flows.try_emplace(array, whole);
        if (!is_new) known->second = {IndexForm::other, ""};
      }
      i = next - 1;
    }
    return flows;
  }

  /// What a variable or an element of it holds.
  Flows flows_of(std::size_t name) const {
    if (is_pointer(name)) return {{std::string(code_[name].text), {}}};
    const auto held = held_.find(code_[name].text);
    return held == held_.end() ? Flows{} : held->second;
  }

  void note_assignment(std::size_t name, std::size_t value) {
    const std::size_t end = end_of_operand(value);
    if (is_pointer(name)) return;
    Flows& held = held_[code_[name].text];
    for (const auto& [array, flow] : flows_in(value, end)) {
      const auto [known, is_new] = held.try_emplace(array, flow);
      if (!is_new) known->second = either(known->second, flow);
    }
  }

  void note_subscript(std::size_t name) {
    const std::size_t close = behind_bracket(code_, name + 1, limit(name + 1)) - 1;
    note_uses(name, name + 2, close);
    if (is_pointer(name)) {
      std::string text;
      for (std::size_t i = name + 2; i < close; ++i) text.append(code_[i].text).append(1, ' ');
      subscripts_[std::string(code_[name].text)].insert(std::move(text));
    }
    const std::size_t next = behind_subscripts(name);
    if (next + 1 < end_ && code_[next].is("=")) note_assignment(name, next + 1);
  }

  void note_uses(std::size_t name, std::size_t begin, std::size_t end) {
    const std::string indexed(code_[name].text);
    for (const auto& [array, direct] : flows_in(begin, end)) {
      const Flow flow = is_kept_address(name) ? behind(direct, {IndexForm::sum, ""}) : direct;
      const auto is_same = [&, array = array](const IndexUse& use) {
        return use.array == array && use.indexed == indexed;
      };
      const auto known = std::find_if(facts_.uses.begin(), facts_.uses.end(), is_same);
      if (known == facts_.uses.end()) {
        facts_.uses.push_back({array, indexed, flow.form, flow.factor, code_[name].line});
        continue;
      }
      const Flow both = either({known->form, known->factor}, flow);
      known->form = both.form;
      known->factor = both.factor;
    }
  }

  /// In `row = x + ...` and `row = &x[...]`, after which `row` has an index of its own.
  bool is_kept_address(std::size_t name) const {
    if (name < begin_ + 2) return false;
    return code_[name - 1].is("=") ? !is_open(name + 1) : code_[name - 1].is("&") && code_[name - 2].is("=");
  }

  /// i < n, i >= n
  void note_bound(std::size_t at) {
    if (at + 3 >= end_ || !(code_[at + 1].is("<") || code_[at + 1].is(">=")) || !code_[at + 2].is_name())
      return;
    const std::string_view behind = code_[at + 3].text;
    if (behind == ")" || behind == ";" || behind == "&&" || behind == "||")
      bounds_.try_emplace(code_[at].text, code_[at + 2].text);
  }

  void note_neighbours() {
    for (const auto& [array, texts] : subscripts_) {
      for (const std::string& text : texts) {
        if (!texts.contains(text + "+ 1 ") && !texts.contains("1 + " + text)) continue;
        const auto bound = bounds_.find(std::string_view(text).substr(0, text.size() - 1));
        facts_.neighbours.emplace(array, bound == bounds_.end() ? "" : std::string(bound->second));
        break;
      }
    }
  }

  const SourceTokens& code_;
  std::size_t begin_, end_;
  std::set<std::string, std::less<>> pointers_;
  IndexFacts facts_;
  std::map<std::string_view, Flows> held_;
  std::map<std::string_view, std::string_view> bounds_;
  std::map<std::string, std::set<std::string>> subscripts_;  ///< of parameters, their tokens with spaces
};

}  // namespace

IndexFacts read_index_uses(const SourceTokens& code, std::size_t begin, std::size_t end,
                           const std::vector<std::string>& pointers) {
  return IndexReader(code, begin, end, pointers).read();
}

}  // namespace tiletune
