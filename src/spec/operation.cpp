#include "spec/operation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "spec/paths.h"
#include "spec/problem.h"

namespace tiletune {

namespace {

constexpr const char* kNoReference = "none";
constexpr const char* kAccumulator = "accumulator";
/// What a library's epilogue adds to each column.
constexpr const char* kBias = "bias";
/// Configurations that must agree: two that are wrong in the same way are not rare.
constexpr std::int64_t kFewestAgreeing = 2;
constexpr std::int64_t kMostAgreeing = 16;

/// What may be chosen: lists of texts by name.
std::vector<Allowed> read_choices(const std::optional<JsonNode>& node, const char* expected) {
  std::vector<Allowed> choices;
  if (!node) return choices;
  for (const auto& [name, list] : read_members(*node, expected)) {
    check_identifier(name, list.where);
    Allowed& choice = choices.emplace_back(Allowed{name, {}});
    for (const JsonNode& element : read_list(list, "texts")) {
      std::string value = read_string(element);
      if (is_among(value, choice.values))
        throw UserError(fmt::format("the value '{}' is listed twice", value), element.where,
                        "Remove one of the two.");
      choice.values.push_back(std::move(value));
    }
  }
  return choices;
}

class OperationReader {
 public:
  /// The members stand in a file of their own, or in an object in the manifest; `folder` is that of the file
  /// that holds them. The others are as read_operation() takes them.
  OperationReader(bool has_file, ObjectReader& members, ObjectReader& manifest, std::filesystem::path folder,
                  const std::vector<std::filesystem::path>& folders, const LoadOptions& options,
                  Compared compared, TemplateSpec& spec, DeclaredNames& scope)
      : has_file_(has_file),
        members_(members),
        manifest_(manifest),
        folder_(std::move(folder)),
        folders_(folders),
        options_(options),
        compared_(compared),
        spec_(spec),
        operation_(spec.operation),
        scope_(scope) {}

  void read() {
    read_sizes();
    read_types();
    read_options();
    read_buffers();
    members_.read(keys::kOperation, operation_);
    if (const auto node = members_.find("accumulation_bits")) read_accumulation_bits(*node);
    read_reference();
    read_checks();
    read_baselines();
  }

 private:
  void read_sizes() {
    const JsonNode dimensions = members_.need("dimensions", "a list of names of the problem's dimensions");
    for (const JsonNode& node : read_list(dimensions, "names")) {
      operation_.dimensions.push_back(read_identifier(node));
      scope_.declare(operation_.dimensions.back(), "a dimension", node.where);
    }
    if (const auto gpus = members_.find("gpus")) {
      operation_.gpus = read_expression(*gpus);
      for (const char* name : {kRank, kPeer}) scope_.declare(name, "the number of a GPU", gpus->where);
    }
    const auto scalars = members_.find("scalars");
    if (!scalars) return;
    for (const auto& [name, node] : read_members(*scalars, "an object of numbers")) {
      check_identifier(name, node.where);
      operation_.scalars.emplace_back(name, read_number(node));
      scope_.declare(name, "a scalar", node.where);
    }
  }

  void read_types() {
    std::vector<Allowed> choices{{kAccumulator, spellings<ElementType>()}};
    std::rotate(choices[0].values.begin(), std::ranges::find(choices[0].values, "f32"),
                choices[0].values.end());
    const auto declared = members_.find("types");
    if (declared) {
      choices = read_choices(declared, "an object of lists of element types");
      for (const auto& [name, values] : choices)
        for (std::size_t i = 0; i < values.size(); ++i)
          if (!from_name<ElementType>(values[i]))
            throw UserError(fmt::format("'{}' is not an element type", values[i]),
                            declared->where.at(name).at(i),
                            fmt::format("Use one of {}.", join(spellings<ElementType>(), ", ")));
    }
    operation_.offered_types = read_offered(manifest_.find("types"), choices, "type variable");
    for (const auto& [name, type] : operation_.offered_types.front()) {
      operation_.types.emplace_back(name, *from_name<ElementType>(type));
      if (name == kAccumulator) operation_.accumulator = operation_.types.back().second;
      scope_.declare(name, "a type variable", declared ? declared->where.at(name) : members_.where());
    }
  }

  void read_options() {
    const auto declared = members_.find("options");
    const std::vector<Allowed> choices = read_choices(declared, "an object of lists of texts");
    operation_.offered_options = read_offered(manifest_.find("options"), choices, "option");
    operation_.options = operation_.offered_options.front();
    allowed_options_ = choices;
    // Options that were added when there were rows already, which stay those of the defaults.
    std::set<std::string> unstated;
    const auto names = names_of(choices, &Allowed::name);
    if (const auto list = members_.find("unstated_defaults"))
      for (const JsonNode& node : read_list(*list, "names of options"))
        unstated.insert(names[read_choice(node, names)]);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const auto& [name, values] = choices[i];
      scope_.declare(name, "an option", declared->where.at(name));
      if (operation_.options[i].second != values.front() || !unstated.contains(name))
        operation_.own_options.push_back(operation_.options[i]);
    }
  }

  /// Whether this variant has one of the values that an object of lists names for some of the options.
  bool has_options(const JsonNode& node) const {
    bool has_all = true;
    for (const auto& [name, list] : read_members(node, "an object of lists of texts")) {
      const std::size_t i = find_known(name, names_of(allowed_options_, &Allowed::name), list.where,
                                       fmt::format("the operation has no option '{}'", name));
      bool has_one = false;
      for (const JsonNode& value : read_list(list, "texts")) {
        const std::size_t number = read_choice(value, allowed_options_[i].values);
        has_one = has_one || allowed_options_[i].values[number] == operation_.options[i].second;
      }
      has_all = has_all && has_one;
    }
    return has_all;
  }

  void read_buffers() {
    const JsonNode list = members_.need("buffers", "a list of buffers");
    DeclaredNames names;
    for (const JsonNode& element : read_list(list, "buffers")) {
      bool is_present = true;
      Buffer buffer = read_buffer(element, is_present);
      names.declare(buffer.name, "a buffer", element.where.at("name"));
      (is_present ? operation_.buffers : operation_.absent).push_back(std::move(buffer));
    }
    read_input_kernels(list);
    const auto is_output = [](const Buffer& buffer) { return buffer.role != BufferRole::in; };
    if (std::ranges::any_of(operation_.buffers, is_output)) return;
    throw UserError("no buffer is an output", list.where, R"(Give one the role "out" or "inout".)");
  }

  /// `is_present` is cleared where this variant has no such buffer.
  Buffer read_buffer(const JsonNode& node, bool& is_present) const {
    ObjectReader reader(node, key_names(keys::kOperationBuffer));
    Buffer buffer;
    reader.read(keys::kOperationBuffer, buffer, operation_);
    if (const auto rows = reader.find("rows"))
      read_matrix(*rows, reader, buffer);
    else
      buffer.elements = read_expression(reader.need("elements", "an expression for the number of elements"));
    if (buffer.role == BufferRole::inout) {
      if (const auto when = reader.find("read_when")) buffer.read_when = read_expression(*when);
    }
    if (const auto values = reader.find("values")) {
      if (buffer.role == BufferRole::out)
        throw UserError(fmt::format("the buffer '{}' is written only, and has values", buffer.name),
                        values->where, R"(Remove "values", or give it the role "in" or "inout".)");
      if (is_kernel(*values))  // it holds zeros before
        buffer.values = BufferValues{Distribution::constant, {{"0", values->where}}, {}, values->where};
      else
        buffer.values = read_buffer_values(*values, buffer.type, folder_, options_.allow_outside_paths);
    }
    if (const auto only = reader.find("only")) is_present = has_options(*only);
    if (const auto layout = reader.find("layout")) buffer.layout = read_layout(*layout, buffer);
    reader.finish();
    return buffer;
  }

  /// Parts of a buffer are dense.
  BufferLayout read_layout(const JsonNode& node, const Buffer& buffer) const {
    const auto layout = read_enum<BufferLayout>(node);
    if (operation_.gpus.text.empty())
      throw UserError(fmt::format("the operation runs on one GPU, which has all of '{}'", buffer.name),
                      node.where, R"(Remove "layout", or give the operation "gpus".)");
    if (layout == BufferLayout::replicated) return layout;
    if (buffer.pitch.text != buffer.columns.text)
      throw UserError(fmt::format("the buffer '{}' has a pitch, and is divided among GPUs", buffer.name),
                      node.where, R"(Remove "pitch", or replicate the buffer.)");
    if (layout == BufferLayout::columns && buffer.columns.text.empty())
      throw UserError(fmt::format("the buffer '{}' has no columns", buffer.name), node.where,
                      R"(Give it "rows" and "columns" instead of "elements".)");
    return layout;
  }

  static bool is_kernel(const JsonNode& values) {
    return values.json.get().is_object() && values.json.get().contains("source");
  }

  /// Once all buffers are known: such a kernel may read one that follows its own.
  void read_input_kernels(const JsonNode& buffers) const {
    for (const JsonNode& node : read_list(buffers, "buffers")) {
      ObjectReader buffer(node, key_names(keys::kOperationBuffer));
      const auto values = buffer.find("values");
      if (!values || !is_kernel(*values)) continue;
      ObjectReader reader(*values, key_names(keys::kValues));
      OperationKernel kernel = read_kernel(reader);
      kernel.input = read_identifier(buffer.need("name", "the buffer's name"));
      const JsonNode arguments = reader.need("arguments", "a list of the kernel's arguments");
      kernel.launch.arguments = read_own_arguments(arguments);
      bool is_passed = false;
      for (std::size_t i = 0; i < kernel.launch.arguments.size(); ++i) {
        const Argument& argument = kernel.launch.arguments[i];
        if (argument.kind == Argument::Kind::scalar) continue;
        is_passed = is_passed || argument.name == kernel.input;
        if (std::ranges::find(operation_.buffers, argument.name, &Buffer::name)->role == BufferRole::out)
          throw UserError(fmt::format("the buffer '{}' is an output, which holds nothing yet", argument.name),
                          arguments.where.at(i), "Pass inputs alone.");
      }
      if (!is_passed)
        throw UserError(fmt::format("the kernel computes '{0}', and '{0}' is not passed to it", kernel.input),
                        arguments.where,
                        fmt::format(R"(Add {{"buffer": "{}"}} where the kernel expects it.)", kernel.input));
      reader.finish();
      operation_.input_kernels.push_back(std::move(kernel));
    }
  }

  /// It ends with the last row's last element: what lies behind that is out of bounds.
  void read_matrix(const JsonNode& stated_rows, ObjectReader& reader, Buffer& buffer) const {
    JsonNode columns = reader.need("columns", "an expression for the elements of a row");
    JsonNode across = stated_rows;
    const auto transposed = reader.find("transposed");
    if (transposed && has_options(*transposed)) std::swap(columns, across);
    const ExprText rows = read_expression(across);
    buffer.columns = buffer.pitch = read_expression(columns);
    if (const auto node = reader.find("pitch")) {
      const std::string name = read_identifier(*node);
      const auto& known = operation_.dimensions;
      if (!is_among(buffer.columns.text, known)) {
        throw UserError(fmt::format("the rows of a matrix with a pitch have {} elements, not a dimension",
                                    buffer.columns.text),
                        columns.where, fmt::format("Name one of the dimensions {}.", join(known, ", ")));
      }
      operation_.leading_dimensions.push_back({name, buffer.name, buffer.columns.text});
      scope_.declare(name, "a leading dimension", node->where);
      buffer.pitch = {name, node->where};
    }
    buffer.elements = {
        fmt::format("(({}) - 1) * ({}) + ({})", rows.text, buffer.pitch.text, buffer.columns.text),
        rows.where};
  }

  /// Takes the fewest bits that the types of the inputs have.
  void read_accumulation_bits(const JsonNode& node) {
    for (const auto& [name, bits] : read_members(node, "an object of bits by element type")) {
      const auto type = from_name<ElementType>(name);
      if (!type)
        throw UserError(fmt::format("'{}' is not an element type", name), bits.where,
                        fmt::format("Write one of {}.", join(spellings<ElementType>(), ", ")));
      const int kept = static_cast<int>(read_integer(bits, 1, 64));
      for (const Buffer& buffer : operation_.buffers)
        if (buffer.role == BufferRole::in && buffer.type == type)
          operation_.accumulation_bits = std::min(kept, operation_.accumulation_bits.value_or(kept));
    }
  }

  /// A list, or one baseline.
  void read_baselines() {
    const auto node = members_.find("baselines");
    if (!node) return;
    DeclaredNames names;
    for (const char* taken : kLibraryBaselines) names.declare(taken, "a name of tiletune's", {});
    names.declare("twin", "a name of tiletune's", {});
    const bool is_one = node->json.get().is_object();
    for (const JsonNode& baseline : is_one ? std::vector{*node} : read_list(*node, "baselines")) {
      const auto has = [&](const char* key) {
        return baseline.json.get().is_object() && baseline.json.get().contains(key);
      };
      if (has("library")) {
        if (operation_.baseline_library)
          throw UserError("found a second library", baseline.where, "Keep one: all its kernels are tried.");
        ObjectReader reader(baseline, key_names(keys::kLibrary));
        operation_.baseline_library = read_library(reader.need("library", R"(a library, such as "gemm")"));
        reader.finish();
      } else if (compared_ == Compared::yes) {
        TemplateSpec kernel =
            has("template")
                ? read_template_baseline(baseline, operation_, folders_, options_)
                : read_kernel_baseline(baseline, operation_, scope_, folder_, options_.allow_outside_paths);
        names.declare(kernel.name, "another baseline", baseline.where);
        spec_.baselines.push_back(std::move(kernel));
      }
    }
  }

  void read_reference() {
    const JsonNode node =
        members_.need("reference", "an object that names the reference kernel, or \"none\"");
    if (node.json.get().is_string()) {
      if (read_string(node) != kNoReference)
        refuse_kind(node, "\"none\", or an object that names the reference");
      operation_.is_unverified = true;
      return;
    }
    if (node.json.get().is_object() && node.json.get().contains("template")) {
      if (compared_ == Compared::yes)
        spec_.reference = {read_template_baseline(node, operation_, folders_, options_)};
      return;
    }
    ObjectReader reader(node, key_names(keys::kOperationReference));
    if (const auto library = reader.find("library"))
      operation_.reference_library = read_library(*library);
    else if (const auto npy = reader.find("npy"))
      operation_.expected = read_expected(*npy);
    else if (const auto python = reader.find("python"))
      operation_.python = read_python(*python, reader);
    else if (const auto consensus = reader.find("consensus"))
      operation_.consensus = static_cast<int>(read_integer(*consensus, kFewestAgreeing, kMostAgreeing));
    else
      read_reference_kernel(reader);
    std::string first;
    for (const char* kind : {"source", "library", "npy", "python", "consensus"}) {
      if (!node.json.get().contains(kind)) continue;
      if (!first.empty())
        throw UserError(fmt::format(R"(found both "{}" and "{}")", first, kind), node.where,
                        "Keep one reference.");
      first = kind;
    }
    reader.finish();
  }

  void read_checks() const {
    const auto list = members_.find("checks");
    if (!list) return;
    if ((!operation_.reference && !operation_.reference_library) || !operation_.gpus.text.empty())
      throw UserError("found checks, but no kernel or library computes their references on one GPU",
                      list->where, "Give the operation such a reference, or remove its checks.");
    for (const Buffer& buffer : operation_.buffers)
      if (buffer.values && buffer.values->npy)
        throw UserError(
            fmt::format("found checks, but a file holds '{}', at the size of one problem", buffer.name),
            list->where, "Remove the checks.");
    constexpr std::size_t kMostProblems = 64;  // each is made for every problem that is timed
    std::size_t count = 0;
    DeclaredNames names;
    for (const JsonNode& node : read_list(*list, "checks")) {
      OperationCheck& check = operation_.checks.emplace_back();
      check.where = node.where;
      ObjectReader reader(node, key_names(keys::kOperationCheck));
      reader.read(keys::kOperationCheck, check);
      names.declare(check.name, "a check", node.where.at("name"));
      const JsonNode problems = reader.need("problems", "a list of problems: sizes by dimension");
      for (const JsonNode& problem : read_list(problems, "problems")) {
        const std::vector<ExprText> sizes = read_expressions(problem);
        if (sizes.size() != operation_.dimensions.size())
          throw UserError(fmt::format("found {} for a problem of {}", counted(sizes.size(), "size"),
                                      counted(operation_.dimensions.size(), "dimension")),
                          problem.where,
                          fmt::format("Write one size for each of {}.", join(operation_.dimensions, ", ")));
        check.problems.push_back(sizes);
        if (++count > kMostProblems)
          throw UserError(fmt::format("the checks have more than {} problems", kMostProblems), problem.where,
                          "List fewer.");
      }
      if (const auto values = reader.find("values")) read_check_values(*values, check);
      reader.finish();
    }
  }

  /// What no integer can be leaves integers as they are.
  void read_check_values(const JsonNode& node, OperationCheck& check) const {
    for (const auto& [name, values] : read_members(node, "an object of values by input")) {
      const auto is_named = [&](const Buffer& buffer) { return buffer.name == name; };
      const auto buffer = std::ranges::find_if(operation_.buffers, is_named);
      if (buffer == operation_.buffers.end() && std::ranges::any_of(operation_.absent, is_named)) continue;
      if (buffer == operation_.buffers.end() || buffer->role == BufferRole::out)
        throw UserError(fmt::format("'{}' is not an input", name), values.where,
                        "Name a buffer whose role is in or inout.");
      if (is_among(name, names_of(operation_.input_kernels, &OperationKernel::input)))
        throw UserError(fmt::format("a kernel computes '{}'", name), values.where, "Name other inputs.");
      if (!values.json.get().is_string()) refuse_kind(values, "values such as \"spread(-20, 20)\"");
      if (is_floating(buffer->type))
        check.values.emplace_back(
            name, read_buffer_values(values, buffer->type, folder_, options_.allow_outside_paths));
    }
  }

  PythonReference read_python(const JsonNode& file, ObjectReader& reader) const {
    if (!operation_.input_kernels.empty())
      throw UserError(
          fmt::format("a Python function cannot read the input '{}', which a kernel computes on the GPU",
                      operation_.input_kernels.front().input),
          file.where, "Use another reference: a kernel, a template, or a consensus.");
    PythonReference python;
    python.folder = folder_;
    python.source = resolve_file(file, folder_, options_.allow_outside_paths);
    reader.read(keys::kPython, python);
    python.where = file.where;
    return python;
  }

  /// One file for each output, or null for one that is not compared.
  std::vector<ExpectedArray> read_expected(const JsonNode& node) const {
    std::vector<ExpectedArray> expected;
    std::vector<std::string> outputs;
    for (const Buffer& buffer : operation_.buffers)
      if (buffer.role != BufferRole::in) outputs.push_back(buffer.name);
    for (const auto& [name, file] :
         read_members(node, "an object of names of .npy files, one for each output")) {
      find_known(name, outputs, file.where, fmt::format("'{}' is not an output", name),
                 fmt::format("Name {}.", join(outputs, ", ")));
      ExpectedArray& array = expected.emplace_back(ExpectedArray{name, {}});
      if (!file.json.get().is_null())
        array.npy = FileName{read_string(file, "the name of an .npy file, or null"), folder_,
                             options_.allow_outside_paths, file.where};
    }
    for (const std::string& output : outputs)
      if (!is_among(output, names_of(expected, &ExpectedArray::buffer)))
        throw UserError(fmt::format("there is no file for the output '{}'", output), node.where,
                        R"(Name one, or write null for an output that is not to be compared.)");
    if (std::ranges::none_of(expected, [](const ExpectedArray& array) { return array.npy.has_value(); }))
      throw UserError("no output is compared", node.where,
                      R"(Name a file for one, or write "reference": "none".)");
    return expected;
  }

  /// Reads the arguments of a kernel of the operation's own, which runs on one GPU and has the whole of every
  /// buffer.
  std::vector<Argument> read_own_arguments(const JsonNode& node) const {
    std::vector<Argument> arguments = read_arguments(node, {operation_, {}}, scope_);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].kind != Argument::Kind::peers && !arguments[i].is_rank) continue;
      throw UserError(fmt::format("a kernel of the operation runs on one GPU, and is passed '{}'",
                                  arguments[i].is_rank ? kRank : "peers"),
                      node.where.at(i), "Pass the buffer itself, of which it has the whole.");
    }
    return arguments;
  }

  /// Reads all but its arguments.
  OperationKernel read_kernel(ObjectReader& reader) const {
    OperationKernel kernel;
    kernel.folder = folder_;
    kernel.source =
        resolve_file(reader.need("source", "the kernel's file"), folder_, options_.allow_outside_paths);
    reader.read(keys::kOwnKernel, kernel.launch);
    return kernel;
  }

  void read_reference_kernel(ObjectReader& reader) {
    operation_.reference = read_kernel(reader);
    // Templates of one operation may pass their arguments in different orders.
    if (has_file_) reader.need("arguments", "a list of the reference kernel's arguments");
    if (const auto arguments = reader.find("arguments"))
      operation_.reference->launch.arguments = read_own_arguments(*arguments);
  }

  /// How A, B and C are divided where a library computes with several GPUs.
  static std::vector<BufferLayout> layouts_of(LibraryOperation library) {
    using enum BufferLayout;
    if (library == LibraryOperation::all_gather_gemm) return {rows, columns, columns};
    if (library == LibraryOperation::gemm_reduce_scatter) return {columns, rows, rows};
    return {rows, replicated, rows};
  }

  LibraryOperation read_library(const JsonNode& node) const {
    const auto library = read_enum<LibraryOperation>(node);
    const bool of_gpus = is_over_gpus(library);
    const bool is_batched = library == LibraryOperation::batched_gemm;
    std::vector<std::string> dimensions{"M", "N", "K"};
    if (of_gpus || is_batched) dimensions.insert(dimensions.begin(), of_gpus ? "G" : "batch");
    const auto matrices = of_gpus || is_batched ? std::vector<std::string>{"A K", "B N", "C N"}
                                                : std::vector<std::string>{"A lda", "B ldb", "C ldc"};
    std::vector<std::string> buffers;
    std::vector<BufferLayout> layouts;
    for (const Buffer& buffer : operation_.buffers) {
      layouts.push_back(buffer.layout);
      if (of_gpus || buffer.name != kBias)
        buffers.push_back(buffer.name + " " + (of_gpus ? buffer.columns : buffer.pitch).text);
      const bool is_known =
          is_floating(buffer.type) || buffer.type == ElementType::i8 || buffer.type == ElementType::i32;
      if (!is_known && !of_gpus)
        throw UserError(
            fmt::format("the library {} multiplies no {} matrices", name(library), name(buffer.type)),
            node.where, "Give the operation a reference kernel of its own.");
    }
    const bool fits = of_gpus ? operation_.gpus.text == "G" && layouts == layouts_of(library)
                              : names_of(operation_.scalars, &std::pair<std::string, double>::first) ==
                                    std::vector<std::string>{"alpha", "beta"};
    if (fits && operation_.dimensions == dimensions && buffers == matrices) return library;
    const auto layout = [&](std::size_t matrix) { return name(layouts_of(library)[matrix]); };
    const std::string wanted =
        of_gpus ? fmt::format(R"("gpus": "G", and the matrices A M K ({}), B K N ({}), C M N ({}).)",
                              layout(0), layout(1), layout(2))
                : fmt::format("the scalars alpha, beta, and the matrices A, B, C {}.",
                              is_batched ? "without pitches" : "with the pitches lda, ldb, ldc");
    throw UserError(fmt::format("the library {} computes another operation", name(library)), node.where,
                    fmt::format("It has the dimensions {}, {}", join(dimensions, ", "), wanted));
  }

  bool has_file_;
  ObjectReader& members_;
  ObjectReader& manifest_;
  std::filesystem::path folder_;
  const std::vector<std::filesystem::path>& folders_;
  const LoadOptions& options_;
  Compared compared_;
  TemplateSpec& spec_;
  Operation& operation_;  ///< the template's
  DeclaredNames& scope_;
  std::vector<Allowed> allowed_options_;
};

/// Operation::definition. A reference kernel may take its arguments in the order of the template's.
std::string definition_of(nlohmann::json json) {
  for (const char* key : {"$schema", "name", "summary", "types", "options", "unstated_defaults", "scalars",
                          "baselines", "checks"})
    json.erase(key);
  for (auto& buffer : json["buffers"]) buffer.erase("type");
  if (json["reference"].is_object()) json["reference"].erase("arguments");
  return json.dump();
}

}  // namespace

void read_operation(ObjectReader& manifest, const std::vector<std::filesystem::path>& folders,
                    const LoadOptions& options, Compared compared, TemplateSpec& spec, DeclaredNames& scope) {
  const JsonNode node =
      manifest.need("operation", R"(the name of an operation such as "gemm", or an object)");
  const auto read = [&](bool has_file, ObjectReader& members, const std::filesystem::path& folder,
                        const nlohmann::ordered_json& json) {
    OperationReader(has_file, members, manifest, folder, folders, options, compared, spec, scope).read();
    members.finish();
    spec.operation.definition = definition_of(json);
  };
  std::string& name = spec.operation.name;
  if (node.json.get().is_object()) {
    ObjectReader members(node, key_names(keys::kOperation));
    const auto own_name = members.find("name");
    name = own_name ? read_identifier(*own_name) : spec.name;
    if (const auto summary = members.find("summary")) spec.operation.summary = read_string(*summary);
    return read(false, members, spec.folder, node.json);
  }
  if (!node.json.get().is_string()) refuse_kind(node, "the name of an operation, or an object");
  name = read_identifier(node);
  const Folder folder = find_operation(name, folders, options.allow_outside_paths, node.where);
  const std::filesystem::path file = folder.path() / kOperationName;
  const auto json = parse_json(folder.read(kOperationName, kLargestJson), file.string());
  ObjectReader members({json, {file.string(), ""}}, key_names(keys::kOperation));
  if (const auto schema = members.find("$schema")) read_string(*schema);
  const JsonNode written = members.need("name", "the name of the operation's folder");
  if (read_identifier(written) != name) {
    throw UserError(fmt::format("the operation is named '{}', but its folder is named '{}'",
                                read_identifier(written), name),
                    written.where, "Give both the same name.");
  }
  spec.operation.summary = read_string(members.need("summary", "one line on what is computed"));
  read(true, members, folder.real_path(), json);
}

Variant variant_of(const Operation& operation) {
  Variant variant;
  for (const auto& [variable, type] : operation.types) variant.types.emplace_back(variable, name(type));
  variant.options = operation.options;
  return variant;
}

void set_scalar(TemplateSpec& spec, const std::string& name, double value) {
  for (auto& [scalar, stated] : spec.operation.scalars)
    if (scalar == name) stated = value;
  for (TemplateSpec& baseline : spec.baselines) set_scalar(baseline, name, value);
  for (TemplateSpec& reference : spec.reference) set_scalar(reference, name, value);
}

}  // namespace tiletune
