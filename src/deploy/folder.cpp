#include <fmt/format.h>

#include <regex>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "deploy/deployment.h"
#include "deploy/source_files.h"
#include "spec/reader.h"

namespace tiletune {

/// The files of a folder that are the same for all, but for "@tuned@" in them, by the names of *.in.
struct FolderFile {
  const char* path;
  const std::string_view& text;
};
extern const std::string_view kFolderCMake, kFolderReadme, kFolderTorch, kFolderPython, kFolderHeader,
    kFolderRuntime, kFolderArchive, kFolderArchiveHeader, kFolderCompile, kFolderCompileHeader, kFolderJit,
    kFolderBuild, kFolderTest, kFolderTested, kFolderGemm, kFolderValues;

namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

constexpr const char* kKernels = "kernels";
constexpr const char* kGemmReference = "test/gemm_reference.cu";

/// Adds a kernel's source and what it includes of its folders.
void add_sources(const DeployedSource& source, Files& files) {
  for (const auto& [name, text] : source_files(source.text).texts) {
    const std::string path = source.path(name);
    if (files.try_emplace(path, text).first->second != text)
      throw UserError("two templates have different files with this name", Where{path, ""},
                      "Rename one of the templates.");
  }
}

/// Writes the operations for the test.
class TestWriter {
 public:
  std::string text;

  void add(const DeployedOperation& operation) {
    const Operation& what = operation.spec->operation;
    const std::string& name = operation.name;
    std::vector<std::string> fills;
    for (std::size_t i = 0; i < what.dimensions.size(); ++i)
      fills.push_back(fmt::format("problem.{} = sizes[{}];", identifier_of(what.dimensions[i]), i));
    text += fmt::format(
        "inline constexpr const char* {0}_dimensions[] = {{{1}}};\n"
        "inline void fill_{0}(const long long* sizes, const Device& device, detail::Value* n) {{\n"
        "  {0}_problem problem{{}};\n  {2}\n  detail::fill(problem, device, n);\n}}\n"
        "namespace detail {{\n"
        "inline void describe_{0}([[maybe_unused]] const Value* n, TestedProblem& p) {{\n{3}}}\n",
        name, cpp_literals(what.dimensions), join(fills, "\n  "),
        problem_code(*operation.spec, operation.problem));
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < what.input_kernels.size(); ++i) {
      const OperationKernel& kernel = what.input_kernels[i];
      const auto buffer = std::ranges::find(what.buffers, kernel.input, &Buffer::name) - what.buffers.begin();
      inputs.push_back(fmt::format(
          "{{{}, {}}}", kernel_text(fmt::format("{}_input_{}", name, i), kernel, operation), buffer));
    }
    std::string reference;
    if (what.reference)
      reference = kernel_text(name + "_reference", *what.reference, operation);
    else if (what.reference_library == LibraryOperation::gemm &&
             std::ranges::all_of(what.buffers, [](const Buffer& one) { return is_floating(one.type); }))
      reference = entry(name + "_reference", product_plan(what), kGemmReference, "gemm_reference", {"test"});
    text += "}  // namespace detail\n";
    if (!reference.empty())
      text += fmt::format("inline constexpr Kernel {}_reference = {};\n", name, reference);
    if (!inputs.empty())
      text += fmt::format("inline constexpr TestedInput {}_inputs[] = {{{}}};\n", name, join(inputs, ", "));
    entries_ += fmt::format(
        "    {{&{0}_operation, {0}_dimensions, fill_{0}, detail::describe_{0}, {1}, {2}, {3}}},\n", name,
        reference.empty() ? "nullptr" : fmt::format("&{}_reference", name),
        inputs.empty() ? "nullptr" : name + "_inputs", inputs.size());
  }

  std::string operations() const {
    return text +
           fmt::format("\ninline constexpr TestedOperation kTestedOperations[] = {{\n{}}};\n", entries_);
  }

 private:
  std::string entry(const std::string& name, const std::string& statements, const std::string& source,
                    const std::string& expression, const std::vector<std::string>& folders) {
    text += fmt::format(
        "inline void plan_{0}([[maybe_unused]] const Value* n, Plan& p) {{\n{1}}}\n"
        "inline constexpr const char* expressions_{0}[] = {{{2}}};\n"
        "inline constexpr const char* options_{0}[] = {{\"--std=c++17\"}};\n"
        "inline constexpr const char* folders_{0}[] = {{{3}}};\n",
        name, statements, cpp_literal(expression), cpp_literals(folders));
    return fmt::format(
        "{{-1, false, \"{0}\", {1}, detail::expressions_{0}, 1, detail::options_{0}, 1, detail::folders_{0}, "
        "{2}, "
        "nullptr, 0, detail::plan_{0}}}",
        name, cpp_literal(source), folders.size());
  }

  std::string kernel_text(const std::string& name, const OperationKernel& kernel,
                          const DeployedOperation& operation) {
    const DeployedSource source = source_of(kernel, *operation.spec);
    const PlanCode code = plan_code(*operation.spec, operation.problem, kernel);
    return entry(name, code.statements, source.path(source.text.name), code.expressions.front(),
                 source.include_folders());
  }

  std::string entries_;
};

/// An operation that a manifest holds has the template's.
const std::string& summary_of(const DeployedOperation& operation) {
  const std::string& own = operation.spec->operation.summary;
  return own.empty() ? operation.spec->summary : own;
}

std::string pointer_type(const Buffer& buffer) {
  const std::string type = buffer.type == ElementType::f32   ? "float"
                           : buffer.type == ElementType::f64 ? "double"
                           : buffer.type == ElementType::i32 ? "int"
                           : buffer.type == ElementType::i64 ? "long long"
                                                             : "void";
  return (buffer.role == BufferRole::in ? "const " : "") + type + "*";
}

/// The names of a function's parameters for buffers.
std::vector<std::string> buffer_names(const Operation& what) {
  std::vector<std::string> names;
  for (const Buffer& buffer : what.buffers) {
    const bool is_taken =
        is_among(buffer.name, what.dimensions) ||
        std::ranges::any_of(what.scalars, [&](const auto& one) { return one.first == buffer.name; });
    names.push_back(identifier_of(buffer.name) + (is_taken ? "_buffer" : ""));
  }
  return names;
}

std::string scalar_type_of(ElementType type) {
  using enum ElementType;
  switch (type) {
    case f16:
      return "Half";
    case bf16:
      return "BFloat16";
    case tf32:
    case f32:
      return "Float";
    case f64:
      return "Double";
    case e4m3:
      return "Float8_e4m3fn";
    case e5m2:
      return "Float8_e5m2";
    case i8:
      return "Char";
    case u8:
      return "Byte";
    case i16:
      return "Short";
    case u16:
      return "UInt16";
    case i32:
      return "Int";
    case u32:
      return "UInt32";
    case i64:
      return "Long";
    case u64:
      return "UInt64";
    case boolean:
      return "Bool";
  }
  return "";
}

/// A name as schemas of PyTorch take it, whose words are Python's.
std::string python_name(const std::string& name) {
  constexpr std::string_view kWords =
      " False None True and as assert async await break class continue def del elif else except finally for "
      "from global if import in is lambda nonlocal not or pass raise return self try while with yield int "
      "float bool str Tensor Device Scalar ";
  return kWords.find(" " + name + " ") == std::string_view::npos ? name : name + "_";
}

/// What torch.cpp.in has of the operations.
struct TorchText {
  std::string operators, definitions, implementations, meta;

  void add(const DeployedOperation& operation) {
    const Operation& what = operation.spec->operation;
    const std::vector<std::string> buffers = buffer_names(what);
    std::vector<std::string> schema, parameters, values, pointers, checks, unused;
    const auto add = [&](const std::string& of_schema, const std::string& type, const std::string& name) {
      schema.push_back(of_schema);
      parameters.push_back(type + " " + name);
      unused.push_back(of_schema.starts_with("SymInt") ? "c10::SymInt" : type);
    };
    for (const std::string& dimension : what.dimensions) {
      values.push_back(identifier_of(dimension));
      add("SymInt " + python_name(values.back()), "int64_t", values.back());
    }
    char alias = 'a';
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& buffer = what.buffers[i];
      const std::string type = buffer.role == BufferRole::in ? "Tensor" : fmt::format("Tensor({}!)", alias++);
      add(type + " " + python_name(buffers[i]), "const at::Tensor&", buffers[i]);
      pointers.push_back(fmt::format("pointer_to({0}, \"{0}\", at::ScalarType::{1}, elements_[{2}], {3})",
                                     buffers[i], scalar_type_of(buffer.type), i, buffers.front()));
      const auto leading = std::ranges::find(what.leading_dimensions, buffer.name, &LeadingDimension::matrix);
      checks.push_back(leading == what.leading_dimensions.end()
                           ? fmt::format("  check_dense({0}, \"{0}\");\n", buffers[i])
                           : fmt::format("  if ({1} == 0) check_dense({0}, \"{0}\");\n", buffers[i],
                                         identifier_of(leading->name)));
    }
    for (const auto& [scalar, value] : what.scalars) {
      values.push_back(identifier_of(scalar));
      add(fmt::format("float {}={:.17g}", python_name(values.back()), value), "double", values.back());
    }
    for (const LeadingDimension& leading : what.leading_dimensions) {
      values.push_back(identifier_of(leading.name));
      add(fmt::format("SymInt {}=0", python_name(values.back())), "int64_t", values.back());
    }
    operators += fmt::format(
        R"(void call_{0}({1}) {{
  const c10::cuda::CUDAGuard guard_({2}.device());
  detail::Value numbers_[64];
  const char* const why_ = detail::fill({0}_problem{{{3}}}, detail::no_device(), numbers_);
  TORCH_CHECK(why_ == nullptr, why_);
  long long elements_[{4}];
  detail::elements({0}_operation, numbers_, elements_);
{5}  void* const buffers_[] = {{{6}}};
  run({0}_operation, numbers_, buffers_, {2});
}}
void meta_{0}({7}) {{}}
)",
        operation.name, join(parameters, ", "), buffers.front(), join(values, ", "), buffers.size(),
        fmt::format("{}", fmt::join(checks, "")), join(pointers, ", "), join(unused, ", "));
    definitions += fmt::format("  m.def(\"{}({}) -> ()\");\n", operation.name, join(schema, ", "));
    implementations += fmt::format("  m.impl(\"{0}\", call_{0});\n", operation.name);
    meta += fmt::format("  m.impl(\"{0}\", meta_{0});\n", operation.name);
  }
};

/// The functions of an operation for @tuned@.h.
std::string function_text(const DeployedOperation& operation) {
  const Operation& what = operation.spec->operation;
  std::vector<std::string> parameters;
  std::vector<std::string> values;
  std::string comment;
  for (const std::string& dimension : what.dimensions) {
    parameters.push_back("long long " + identifier_of(dimension));
    values.push_back(identifier_of(dimension));
  }
  const std::size_t sizes = parameters.size();
  const std::vector<std::string> buffers = buffer_names(what);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = what.buffers[i];
    parameters.push_back(fmt::format("{} {}", pointer_type(buffer), buffers[i]));
    comment += fmt::format("//   {}: {}, {} elements\n", buffer.name, name(buffer.type),
                           comment_text(buffer.elements.text));
  }
  std::vector<std::string> needs(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(sizes));
  const auto add = [&](const std::string& text, const std::string& own) {
    parameters.push_back(text);
    needs.push_back(text);
    values.push_back(own);
  };
  for (const auto& [scalar, value] : what.scalars)
    add(fmt::format("double {} = {:.17g}", identifier_of(scalar), value), identifier_of(scalar));
  for (const LeadingDimension& leading : what.leading_dimensions)
    add(fmt::format("long long {} = 0", identifier_of(leading.name)), identifier_of(leading.name));
  return fmt::format(
      R"(// {1}
{2}inline Status {0}(const On& where_, {3}) noexcept {{
  detail::Value numbers_[64];
  if (const char* const why_ = detail::fill({0}_problem{{{4}}}, detail::no_device(), numbers_)) return detail::invalid(why_);
  const void* const buffers_[] = {{{5}}};
  return detail::run({0}_operation, where_, numbers_, buffers_);
}}
inline Needs {0}_needs({6}) noexcept {{
  detail::Value numbers_[64];
  if (detail::fill({0}_problem{{{4}}}, detail::no_device(), numbers_) != nullptr) return {{}};
  return detail::needs({0}_operation, numbers_);
}}

)",
      operation.name, comment_text(summary_of(operation)), comment, join(parameters, ", "),
      join(values, ", "), join(buffers, ", "), join(needs, ", "));
}

}  // namespace

std::string product_plan(const Operation& operation) {
  std::string layout = "nn";
  std::string epilogue = "identity";
  for (const auto& [option, value] : operation.options) (option == "layout" ? layout : epilogue) = value;
  const bool has_bias =
      std::ranges::any_of(operation.buffers, [](const Buffer& one) { return one.name == "bias"; });
  const int activation = epilogue.ends_with("relu") ? 1 : epilogue.ends_with("gelu") ? 2 : 0;
  std::string statements =
      "  p.begin(0);\n  p.set_grid(ceil_div(multiply(n[0], n[1]), 256LL), 1LL, 1LL);\n"
      "  p.set_block(256LL, 1LL, 1LL);\n";
  const auto scalar = [&](const char* type, const std::string& value) {
    statements += fmt::format("  p.add_scalar(Type::{}, {});\n", type, value);
  };
  for (int i = 0; i < 3; ++i) scalar("i64", fmt::format("n[{}]", i));
  scalar("f64", "n[6]");
  statements += "  p.add_address(Argument::buffer, 0);\n  p.add_address(Argument::buffer, 1);\n";
  scalar("f64", "n[7]");
  statements += "  p.add_address(Argument::buffer, 2);\n";
  statements +=
      has_bias ? "  p.add_address(Argument::buffer, 3);\n" : "  p.add_address(Argument::null_address, 0);\n";
  for (int i = 3; i < 6; ++i) scalar("i64", fmt::format("n[{}]", i));
  scalar("i32", layout.front() == 't' ? "1LL" : "0LL");
  scalar("i32", layout.back() == 't' ? "1LL" : "0LL");
  scalar("i32", fmt::format("{}LL", activation));
  return statements;
}

std::string DeployedSource::path(const std::string& name) const {
  const fs::path path = (home / name).lexically_normal();
  if (!fs::path(name).is_absolute() && *path.begin() == kKernels) {
    const std::string place = path.string();
    return place.ends_with('/') ? place.substr(0, place.size() - 1) : place;
  }
  throw UserError(fmt::format("{} lies outside the folder of templates", name), Where{home.string(), ""},
                  "Copy what the kernel includes into its folder.");
}

std::vector<std::string> DeployedSource::include_folders() const {
  std::vector<std::string> folders;
  for (const std::string& folder : text.search_before) folders.push_back(path(folder));
  return folders;
}

DeployedSource source_of(const OperationKernel& kernel, const TemplateSpec& spec) {
  const fs::path folder = kernel.folder;
  const bool is_shared = folder.parent_path().filename() == "operations";
  return {read_kernel_source(kernel.source, folder, spec.include_folders, folder, false),
          is_shared ? fs::path(kKernels) / "operations" / folder.filename() : fs::path(kKernels) / spec.name};
}

bool is_architecture(const std::string& text) {
  static const std::regex is_one("[0-9]{2,3}[af]?");
  return std::regex_match(text, is_one);
}

std::string architecture_of(const DeployedSection& section) {
  constexpr std::string_view kPrefix = "sm_";
  const std::string& recorded = section.architecture;
  const std::string architecture = recorded.starts_with(kPrefix) ? recorded.substr(kPrefix.size()) : "";
  return is_architecture(architecture) ? architecture : "";
}

std::map<std::string, std::string> folder_files(const Deployment& deployment, const FolderOptions& options) {
  Files files;
  TestWriter tests;
  TorchText torch;
  std::string functions;
  std::string list;
  std::set<std::string> architectures(options.architectures.begin(), options.architectures.end());
  bool calls_library = false;
  for (const DeployedKernel& kernel : deployment.kernels) {
    calls_library = calls_library || kernel.source == nullptr;
    if (kernel.source != nullptr) add_sources(*kernel.source, files);
  }
  for (const DeployedOperation& operation : deployment.operations) {
    for (const DeployedSection& section : operation.sections) {
      const std::string architecture = architecture_of(section);
      if (options.architectures.empty() && !architecture.empty()) architectures.insert(architecture);
    }
  }
  if (architectures.empty())
    throw UserError("the rows have no valid architecture", Where{"--arch", ""},
                    "Pass one, such as --arch 90a.");
  for (const DeployedOperation& operation : deployment.operations) {
    const Operation& what = operation.spec->operation;
    for (const OperationKernel& kernel : what.input_kernels)
      add_sources(source_of(kernel, *operation.spec), files);
    if (what.reference) add_sources(source_of(*what.reference, *operation.spec), files);
    tests.add(operation);
    functions += function_text(operation);
    torch.add(operation);
    list += fmt::format("- `{}`: {}\n", operation.name, comment_text(summary_of(operation)));
  }
  for (const NamedHeader& header : standard_headers())
    files.emplace(fmt::format("{}/standard/{}", kKernels, header.name), header.text);
  const std::string& name = options.name_space;
  const std::string include = fmt::format("include/{0}/", name);
  files[include + "kernels.h"] = kernels_header(deployment, name);
  const std::vector<Replacement> marks{{"@tuned@", name},
                                       {"@TUNED@", macro_of(name)},
                                       {"@jit@", options.jit ? "ON" : "OFF"},
                                       {"@library@", calls_library ? "ON" : "OFF"},
                                       {"@architectures@", fmt::format("{}", fmt::join(architectures, ";"))},
                                       {"@first@", deployment.operations.front().name},
                                       {"// {operations}\n", functions},
                                       {"@operations@\n", list},
                                       {"// {operators}\n", torch.operators},
                                       {"// {definitions}\n", torch.definitions},
                                       {"// {implementations}\n", torch.implementations},
                                       {"// {meta}\n", torch.meta}};
  const std::array<FolderFile, 11> fixed{{{"CMakeLists.txt", kFolderCMake},
                                          {"README.md", kFolderReadme},
                                          {"src/runtime.cpp", kFolderRuntime},
                                          {"src/archive.cpp", kFolderArchive},
                                          {"src/archive.h", kFolderArchiveHeader},
                                          {"src/compile.cpp", kFolderCompile},
                                          {"src/compile.h", kFolderCompileHeader},
                                          {"src/jit.cpp", kFolderJit},
                                          {"src/build_kernels.cpp", kFolderBuild},
                                          {"test/main.cpp", kFolderTest},
                                          {kGemmReference, kFolderGemm}}};
  for (const FolderFile& file : fixed) files[file.path] = replaced(file.text, marks);
  files[include + name + ".h"] = replaced(kFolderHeader, marks);
  files[fmt::format("torch/{}_torch.cpp", name)] = replaced(kFolderTorch, marks);
  files[fmt::format("torch/{}_torch.py", name)] = replaced(kFolderPython, marks);
  std::vector<Replacement> of_test{{"@tuned@", name},
                                   {"// {values}\n", std::string(kFolderValues)},
                                   {"// {operations}\n", tests.operations()}};
  files["test/operations.h"] = replaced(kFolderTested, of_test);
  return files;
}

}  // namespace tiletune
