#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "fixture.h"
#include "spec/keys.h"
#include "spec/reader.h"

namespace tiletune {
namespace schema_test {

using Names = std::set<std::string>;
using NamesByPointer = std::map<std::string, Names>;

Json schema(const std::string& name) {
  return read_json(std::filesystem::path(TILETUNE_SOURCE_DIR) / "schemas" / name);
}

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

/// The property names of every schema object that closes its list of properties.
NamesByPointer properties_of(const Json& document) {
  NamesByPointer result;
  walk(document, "", [&](const std::string& pointer, const Json& node) {
    if (node.value("type", Json()) != "object" || !node.contains("properties")) return;
    EXPECT_EQ(node.value("additionalProperties", Json()), false) << pointer;
    for (const auto& [key, value] : node["properties"].items()) {
      result[pointer].insert(key);
      EXPECT_TRUE(value.contains("description")) << pointer << "/" << key;
    }
  });
  return result;
}

NamesByPointer enumerations_of(const Json& document) {
  NamesByPointer result;
  walk(document, "", [&](const std::string& pointer, const Json& node) {
    if (!node.contains("enum") || pointer.find("/not") != std::string::npos) return;
    for (const auto& value : node["enum"]) result[pointer].insert(value.get<std::string>());
  });
  return result;
}

TEST(Schema, TheOperationHasTheKeysThatTheReaderKnows) {
  const NamesByPointer known{{"", names(key_names(keys::kOperation))},
                             {"/properties/tolerance", names(field_names<Tolerance>())},
                             {"/$defs/buffer/properties/values/else", names(key_names(keys::kValues))},
                             {"/$defs/library_baseline", names(key_names(keys::kLibrary))},
                             {"/$defs/template_baseline", names(key_names(keys::kTemplateBaseline))},
                             {"/$defs/kernel_baseline", names(key_names(keys::kKernelBaseline))},
                             {"/$defs/buffer", names(key_names(keys::kOperationBuffer))},
                             {"/$defs/reference", names(key_names(keys::kOperationReference))}};
  EXPECT_EQ(properties_of(schema("operation.schema.json")), known);
}

TEST(Schema, TheManifestHasTheKeysThatTheReaderKnows) {
  const NamesByPointer known{{"", names(key_names(keys::kTemplate))},
                             {"/properties/reference", names(key_names(keys::kReference))},
                             {"/properties/launch", names(key_names(keys::kLaunch))},
                             {"/$defs/launch", names(key_names(keys::kLaunches))},
                             {"/$defs/copy", names(key_names(keys::kCopy))},
                             {"/$defs/barrier", names(key_names(keys::kBarrier))},
                             {"/$defs/collective", names(key_names(keys::kCollective))},
                             {"/$defs/buffer", names(key_names(keys::kBuffer))},
                             {"/$defs/workspace", names(key_names(keys::kWorkspace))},
                             {"/$defs/parameter", names(key_names(keys::kParameter))},
                             {"/$defs/derived", names(key_names(keys::kDerived))},
                             {"/$defs/constraint", names(key_names(keys::kConstraint))},
                             {"/$defs/argument", names(key_names(keys::kArgument))}};
  EXPECT_EQ(properties_of(schema("template.schema.json")), known);
}

TEST(Schema, TheConfigHasTheKeysThatTheReaderKnows) {
  const NamesByPointer known{{"", names(key_names(keys::kConfig))},
                             {"/properties/strategy", names(key_names(keys::kStrategy))},
                             {"/properties/budget", names(field_names<Budget>())},
                             {"/properties/measure", names(field_names<MeasurePolicy>())},
                             {"/properties/measure/properties/finals", names(field_names<FinalsPolicy>())},
                             {"/properties/compile", names(field_names<CompilePolicy>())},
                             {"/properties/limits", names(field_names<AdmissionLimits>())},
                             {"/properties/steps/items", names(key_names(keys::kStep))},
                             {"/$defs/narrowing", names(key_names(keys::kNarrowing))},
                             {"/$defs/constraint", names(key_names(keys::kConstraint))}};
  EXPECT_EQ(properties_of(schema("config.schema.json")), known);
}

TEST(Schema, ChoicesAreThoseTheReaderKnows) {
  const NamesByPointer in_manifest{{"/$defs/collective/properties/collective", spelled<Collective>()},
                                   {"/$defs/element_type", spelled<ElementType>()},
                                   {"/$defs/buffer/properties/role", spelled<BufferRole>()}};
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
  const NamesByPointer in_config{{"/properties/measure/properties/cache", spelled<CachePolicy>()},
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
  expect_missed(axpy(), document["then"]["required"], "");
  expect_missed(axpy(), document["properties"]["reference"]["required"], "/reference");
  expect_missed(axpy(), definitions["buffer"]["required"], "/buffers/0");
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
