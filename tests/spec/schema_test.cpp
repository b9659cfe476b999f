#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/file.h"
#include "fixture.h"
#include "spec/reader.h"

namespace tiletune {
namespace schema_test {

using Names = std::set<std::string>;
using NamesByPointer = std::map<std::string, Names>;

std::filesystem::path schema_file(const std::string& name) {
  return std::filesystem::path(TILETUNE_SOURCE_DIR) / "schemas" / name;
}

Json schema(const std::string& name) { return read_json(schema_file(name)); }

template <typename Keys>
Names names(const Keys& keys) {
  return {keys.begin(), keys.end()};
}

template <typename Enum>
Names spelled() {
  return names(spellings<Enum>());
}

/// Calls `visit(pointer, node)` for every object of the document.
template <typename Visit>
void walk(const Json& node, const std::string& pointer, const Visit& visit) {
  if (node.is_object()) visit(pointer, node);
  if (!node.is_structured()) return;
  for (const auto& [key, value] : node.items()) walk(value, pointer + "/" + key, visit);
}

Json reference_to(const char* definition) { return {{"$ref", std::string("#/$defs/") + definition}}; }

template <typename Number>
Json number_schema(const Bounds<Number>& bounds) {
  const auto plain = [](Number number) {
    const bool is_whole = static_cast<Number>(static_cast<std::int64_t>(number)) == number;
    return is_whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
  };
  Json schema{{"type", std::is_integral_v<Number> ? "integer" : "number"}};
  if (bounds.or_zero)
    schema["anyOf"] = Json::array({{{"const", 0}}, {{"minimum", plain(bounds.min)}}});
  else if (bounds.above)
    schema["exclusiveMinimum"] = plain(bounds.min);
  else if (std::is_integral_v<Number> || bounds.min > Bounds<Number>{}.min)
    schema["minimum"] = plain(bounds.min);
  if (bounds.max < Bounds<Number>{}.max)
    schema["maximum"] = plain(bounds.max);
  else if (std::is_integral_v<Number>)
    schema["maximum"] = std::numeric_limits<std::int64_t>::max();
  return schema;
}

/// What read_as() accepts. Null for an object, whose keys are a list of their own.
template <typename T>
Json type_schema(const typename BoundsOf<T>::type& bounds = {}) {
  using Plain = typename Inner<T>::type;
  if constexpr (std::is_same_v<Plain, bool>)
    return {{"type", "boolean"}};
  else if constexpr (std::is_arithmetic_v<Plain>)
    return number_schema(bounds);
  else if constexpr (Spelled<Plain>)
    return {{"enum", spellings<Plain>()}};
  else if constexpr (std::is_same_v<Plain, std::string>)
    return reference_to("text");
  else if constexpr (std::is_same_v<Plain, ExprText>)
    return reference_to("expression");
  else if constexpr (std::is_same_v<Plain, std::array<ExprText, 3>>)
    return reference_to("extent");
  else if constexpr (std::is_same_v<Plain, std::vector<ExprText>>)
    return {
        {"type", "array"}, {"maxItems", kMostParts}, {"minItems", 1}, {"items", reference_to("expression")}};
  else if constexpr (std::is_same_v<Plain, std::vector<std::string>>)
    return {{"type", "array"}, {"maxItems", kMostParts}, {"items", reference_to("text")}};
  else
    return nullptr;
}

/// What a function of the readers accepts. Null for one that no definition of the schemas stands for.
template <typename Function>
Json function_schema(Function* function) {
  const auto address = [](auto* any) { return reinterpret_cast<void (*)()>(any); };
  const std::map<void (*)(), const char*> definitions{{address(read_identifier), "name"},
                                                      {address(read_qualified_name), "qualified_name"},
                                                      {address(read_memory_name), "name"},
                                                      {address(read_written_name), "name"},
                                                      {address(read_signal), "name"},
                                                      {address(read_element_type), "name"},
                                                      {address(read_values), "values"},
                                                      {address(read_compute_capability), "text"},
                                                      {address(&read_name_of<Swizzle>), "expression"},
                                                      {address(&read_name_of<Promotion>), "expression"}};
  const auto found = definitions.find(address(function));
  return found == definitions.end() ? Json() : reference_to(found->second);
}

/// A key, and what a schema says of it but for its description; null where the key is read by hand.
struct Property {
  std::string key;
  Json schema;
};

template <typename Struct, typename T>
Property property(const FieldOf<Struct, T>& field) {
  return {std::string(field.name), type_schema<T>(field.bounds)};
}
template <typename Struct, typename T>
Property property(const Key<Struct, T, ByType>& key) {
  return {std::string(key.name), type_schema<T>()};
}
template <typename Struct, typename T, typename Function>
Property property(const Key<Struct, T, Function*>& key) {
  return {std::string(key.name), function_schema(key.read)};
}
Property property(const char* by_hand) { return {by_hand, nullptr}; }

using Properties = std::vector<Property>;
using PropertiesByPointer = std::map<std::string, Properties>;

template <typename Keys>
Properties properties(const Keys& keys) {
  return keys([](const auto&... each) { return Properties{property(each)...}; });
}

/// The schema with what the lists of keys say; a new key has a description to be filled in.
Json updated(Json document, const PropertiesByPointer& lists) {
  for (const auto& [pointer, list] : lists) {
    Json& stated = document[Json::json_pointer(pointer)]["properties"];
    Json next = Json::object();
    for (const auto& [key, value] : stated.items())
      if (std::ranges::find(list, key, &Property::key) != list.end()) next[key] = value;
    for (const auto& [key, schema] : list) {
      if (!next.contains(key)) next[key] = {{"description", ""}};
      if (schema.is_null()) continue;
      next[key] = {{"description", next[key]["description"]}};
      next[key].update(schema);
    }
    stated = next;
  }
  return document;
}

/// In one line where that fits, else with a line for each member.
std::string pretty(const Json& json, std::size_t indent, bool may_break = true) {
  constexpr std::size_t kColumns = 120;
  if (!json.is_structured() || json.empty()) return json.dump();
  if (may_break) {
    std::string line = pretty(json, indent, false);
    if (indent + line.size() <= kColumns) return line;
  }
  const bool is_object = json.is_object();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += may_break ? "," : ", ";
    if (may_break) text += "\n" + std::string(indent + 2, ' ');
    text += (is_object ? Json(key).dump() + ": " : "") + pretty(value, indent + 2, may_break);
  }
  if (may_break) text += "\n" + std::string(indent, ' ');
  return is_object ? "{" + text + "}" : "[" + text + "]";
}

/// The pointers of every schema object that closes its list of properties.
Names closed_objects(const Json& document) {
  Names result;
  walk(document, "", [&](const std::string& pointer, const Json& node) {
    if (node.value("type", Json()) != "object" || !node.contains("properties")) return;
    EXPECT_EQ(node.value("additionalProperties", Json()), false) << pointer;
    result.insert(pointer);
    for (const auto& [key, value] : node["properties"].items())
      EXPECT_NE(value.value("description", ""), "") << pointer << "/" << key;
  });
  return result;
}

/// Writes the schema where TILETUNE_UPDATE_SCHEMAS is set.
void expect_schema(const std::string& name, const PropertiesByPointer& lists) {
  const Json document = schema(name);
  const Json wanted = updated(document, lists);
  if (std::getenv("TILETUNE_UPDATE_SCHEMAS") != nullptr) {
    std::ofstream(schema_file(name)) << pretty(wanted, 0) << "\n";
    return;
  }
  Names pointers;
  for (const auto& [pointer, list] : lists) {
    pointers.insert(pointer);
    const Json::json_pointer properties(pointer + "/properties");
    EXPECT_EQ(document[properties], wanted[properties]) << name << ": " << pointer;
  }
  EXPECT_EQ(closed_objects(document), pointers) << name;
}

TEST(Schema, TheOperationSaysWhatTheReaderDoes) {
  expect_schema("operation.schema.json", {{"", properties(keys::kOperation)},
                                          {"/properties/tolerance", properties(Tolerance::fields())},
                                          {"/$defs/buffer/properties/values/else", properties(keys::kValues)},
                                          {"/$defs/library_baseline", properties(keys::kLibrary)},
                                          {"/$defs/template_baseline", properties(keys::kTemplateBaseline)},
                                          {"/$defs/kernel_baseline", properties(keys::kKernelBaseline)},
                                          {"/properties/checks/items", properties(keys::kOperationCheck)},
                                          {"/$defs/buffer", properties(keys::kOperationBuffer)},
                                          {"/$defs/reference", properties(keys::kOperationReference)}});
}

TEST(Schema, TheManifestSaysWhatTheReaderDoes) {
  expect_schema("template.schema.json", {{"", properties(keys::kTemplate)},
                                         {"/properties/launch", properties(keys::kLaunch)},
                                         {"/$defs/launch", properties(keys::kLaunches)},
                                         {"/$defs/copy", properties(keys::kCopy)},
                                         {"/$defs/barrier", properties(keys::kBarrier)},
                                         {"/$defs/collective", properties(keys::kCollective)},
                                         {"/$defs/workspace", properties(keys::kWorkspace)},
                                         {"/$defs/parameter", properties(keys::kParameter)},
                                         {"/$defs/derived", properties(keys::kDerived)},
                                         {"/$defs/constraint", properties(keys::kConstraint)},
                                         {"/$defs/argument", properties(keys::kArgument)}});
}

TEST(Schema, TheConfigSaysWhatTheReaderDoes) {
  expect_schema("config.schema.json",
                {{"", properties(keys::kConfig)},
                 {"/properties/strategy", properties(keys::kStrategy)},
                 {"/properties/budget", properties(Budget::fields())},
                 {"/properties/measure", properties(MeasurePolicy::fields())},
                 {"/properties/measure/properties/finals", properties(FinalsPolicy::fields())},
                 {"/properties/compile", properties(CompilePolicy::fields())},
                 {"/properties/limits", properties(AdmissionLimits::fields())},
                 {"/properties/steps/items", properties(keys::kStep)},
                 {"/$defs/narrowing", properties(keys::kNarrowing)},
                 {"/$defs/constraint", properties(keys::kConstraint)}});
}

NamesByPointer enumerations_of(const Json& document) {
  NamesByPointer result;
  walk(document, "", [&](const std::string& pointer, const Json& node) {
    if (!node.contains("enum") || pointer.find("/not") != std::string::npos) return;
    for (const auto& value : node["enum"]) result[pointer].insert(value.get<std::string>());
  });
  return result;
}

TEST(Schema, ChoicesAreThoseTheReaderKnows) {
  const NamesByPointer in_manifest{{"/$defs/collective/properties/collective", spelled<Collective>()},
                                   {"/$defs/element_type", spelled<ElementType>()},
                                   {"/properties/pipe", spelled<Emulation>()}};
  EXPECT_EQ(enumerations_of(schema("template.schema.json")), in_manifest);
  const NamesByPointer in_operation{
      {"/properties/bound", spelled<Ceiling>()},
      {"/$defs/library_baseline/properties/library", spelled<LibraryOperation>()},
      {"/$defs/reference/properties/library", spelled<LibraryOperation>()},
      {"/$defs/element_type", spelled<ElementType>()},
      {"/$defs/buffer/properties/layout", spelled<BufferLayout>()},
      {"/$defs/buffer/properties/role", spelled<BufferRole>()}};
  EXPECT_EQ(enumerations_of(schema("operation.schema.json")), in_operation);
  // tests/search compares the names of strategies.
  NamesByPointer of_config = enumerations_of(schema("config.schema.json"));
  of_config.erase("/properties/strategy/properties/name");
  const NamesByPointer in_config{
      {"/properties/measure/properties/cache", spelled<CachePolicy>()},
      {"/properties/measure/properties/finals/properties/regimes/items", spelled<Regime>()},
      {"/properties/baseline", spelled<Baseline>()},
      {"/properties/view", spelled<View>()}};
  EXPECT_EQ(of_config, in_config);
}

/// Objects whose required keys the reader must miss when they are left out, tried on a complete document.
class RequiredKeys : public SpecTest {
 protected:
  void expect_missed(const Json& document, const Json& required, const std::string& pointer) {
    for (const std::string key : required) {
      Json without = document;
      without[Json::json_pointer(pointer)].erase(key);
      const std::string folder = document["name"];
      const auto manifest = write("kernel_templates/" + folder + "/template.json", without.dump());
      const UserError error = user_error_of([&] { load_template(manifest, options_); });
      EXPECT_EQ(error.message(), "the key '" + key + "' is missing") << pointer;
      EXPECT_EQ(error.where().pointer, pointer);
    }
  }
};

TEST_F(RequiredKeys, AreThoseOfTheSchema) {
  const Json document = schema("template.schema.json");
  const Json& definitions = document["$defs"];
  expect_missed(tile(), document["required"], "");
  expect_missed(tile(), document["properties"]["launch"]["required"], "/launch");
  expect_missed(tile(), definitions["parameter"]["required"], "/parameters/0");
  expect_missed(tile(), definitions["derived"]["required"], "/derived/0");
  expect_missed(tile(), definitions["constraint"]["required"], "/constraints/0");
  expect_missed(axpy(), definitions["workspace"]["required"], "/workspace/0");
  const Json operation = schema("operation.schema.json");
  expect_missed(softmax(), operation["required"], "/operation");
  expect_missed(softmax(), operation["$defs"]["buffer"]["required"], "/operation/buffers/0");
  expect_missed(softmax(), operation["$defs"]["reference"]["oneOf"].back()["required"],
                "/operation/reference");
}

TEST_F(SpecTest, TheManifestsOfTheseTestsUseEveryKey) {
  Json all = axpy();
  all.update(tile());
  all.update(softmax());
  all.update(sums());
  for (const std::string_view key : key_names(keys::kTemplate))
    EXPECT_TRUE(all.contains(std::string(key))) << key;
  EXPECT_NO_THROW(load_patched(softmax(), "{}"));
  EXPECT_NO_THROW(load_patched(tile(), "{}"));
  EXPECT_NO_THROW(load_patched(axpy(), "{}"));
}

}  // namespace schema_test
}  // namespace tiletune
