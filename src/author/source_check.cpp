#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "author/check.h"
#include "author/signature.h"
#include "author/source_facts.h"
#include "base/text.h"
#include "compile/pool.h"
#include "measure/input_values.h"

namespace tiletune {

namespace {

/// The name of an argument's or kernel's place in the manifest.
Where launch_place(const TemplateSpec& spec, std::size_t launch) {
  return spec.launches.size() == 1 && spec.steps.empty() ? spec.where : spec.launches[launch].where;
}

/// Names in a source and in the files of its folders that it includes.
std::set<std::string> names_in(const KernelSource& source, const Dependencies& dependencies) {
  std::set<std::string> names;
  const auto read = [&](const std::string& text) {
    TokenizedSource tokens = tokenize_source(text);
    tokens.directives.push_back(std::move(tokens.code));
    for (const SourceTokens& list : tokens.directives)
      for (const SourceToken& token : list)
        if (token.is_name()) names.emplace(token.text);
  };
  read(source.text);
  for (const auto& [name, hash] : dependencies) {
    if (const Descriptor file = open_included(source, name); file.is_open())
      if (const auto text = source_content(file)) read(*text);
  }
  return names;
}

/// The facts of the source alone; none where it cannot be read, as kernels in PTX cannot.
std::optional<SourceFacts> facts_of(const Task& task) {
  if (!task.source || is_compiled(task.spec->source)) return std::nullopt;
  try {
    return read_source_facts(task.source->text, task.source->name);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Calls note(launch, kernel) for each launch whose kernel's text the source has.
template <typename Note>
void for_each_launch(const Task& task, const SourceFacts& facts, const Note& note) {
  for (std::size_t launch = 0; launch < task.spec->launches.size(); ++launch) {
    const std::string_view name = unqualified(task.spec->launches[launch].kernel);
    const auto kernel = std::ranges::find(facts.kernels, name, &KernelText::name);
    if (kernel != facts.kernels.end()) note(launch, *kernel);
  }
}

/// Where the manifest says how many elements a buffer has.
Where elements_place(const TemplateSpec& spec, const std::string& buffer) {
  const auto stated = std::ranges::find(spec.operation.buffers, buffer, &Buffer::name);
  return stated == spec.operation.buffers.end() ? spec.where : stated->elements.where;
}

/// Notes macros of the manifest, its own and those among the options that are parameters.
void note_macros(const Task& task, const Dependencies& dependencies, std::vector<UserError>& notes) {
  const TemplateSpec& spec = *task.spec;
  std::vector<std::pair<std::string, Where>> macros;
  for (const auto& [name, value] : spec.macros)
    if (!value.where.file.empty()) macros.emplace_back(name, value.where);  // that a file gives
  for (std::size_t i = 0; i < spec.compile_options.size(); ++i) {
    const std::string& option = spec.compile_options[i];
    const std::size_t equals = option.find("={");
    if (option.starts_with("-D") && equals != std::string::npos)
      macros.emplace_back(option.substr(2, equals - 2), spec.where.at("compile_options").at(i));
  }
  if (macros.empty()) return;
  const std::set<std::string> used = names_in(*task.source, dependencies);
  const std::vector<std::string> known(used.begin(), used.end());
  for (const auto& [name, where] : macros) {
    if (used.contains(name)) continue;
    const auto near = nearest(name, known);
    notes.emplace_back(fmt::format("the macro {} is not used by {}", name, task.source->name), where,
                       near ? fmt::format("Did you mean {}?", *near)
                            : "Remove it, or use it in the source: its values give the same kernel.");
  }
}

/// Notes shared memory that a launch does not give, and arguments in another order than the parameters'.
void note_launch(const TemplateSpec& spec, std::size_t launch, const KernelText& kernel,
                 std::vector<UserError>& notes) {
  const Where place = launch_place(spec, launch);
  if (kernel.dynamic_shared_line > 0 && trim(spec.launches[launch].dynamic_shared_bytes.text) == "0")
    notes.emplace_back(
        fmt::format("the kernel '{}' has extern __shared__ in line {}, and the launch gives it 0 bytes",
                    kernel.name, kernel.dynamic_shared_line),
        spec.launches.size() == 1 ? place.at("launch") : place,
        "Add \"dynamic_shared_bytes\": an expression.");
  std::vector<std::string> passed;
  for (const Argument& argument : spec.launches[launch].arguments) passed.push_back(argument.name);
  const std::vector<std::string>& wanted = kernel.parameter_names;
  if (passed != wanted && std::is_permutation(passed.begin(), passed.end(), wanted.begin(), wanted.end()))
    notes.emplace_back(fmt::format("the arguments are {}, and the parameters of '{}' are {}",
                                   join(passed, ", "), kernel.name, join(wanted, ", ")),
                       place.at("arguments"),
                       "Arguments are passed by their order: bring them into the kernel's.");
}

enum class Match { yes, perhaps, no };

/// Memory may be read as other types on purpose: integers that hold several elements or their bits, or
/// float4.
Match pointer_match(ElementType buffer, const ParameterType& parameter) {
  if (!parameter.element || *parameter.element == buffer) return Match::yes;
  if (buffer == ElementType::tf32) return pointer_match(ElementType::f32, parameter);
  const ElementType wanted = *parameter.element;
  // float4 loads of elements that are cast afterwards are common.
  if (is_floating(wanted)) return parameter.lanes > 1 ? Match::perhaps : Match::no;
  const bool is_unsigned = tiletune::range_of(wanted).lowest == 0 && wanted != ElementType::boolean;
  const bool holds_bits = size_bytes(wanted) == size_bytes(buffer) && (!is_floating(buffer) || is_unsigned);
  return holds_bits || parameter.lanes > 1 ? Match::yes : Match::perhaps;
}

/// Elements of a workspace need only be large enough; integers may hold anything.
Match workspace_match(ElementType workspace, const ParameterType& parameter) {
  if (!parameter.element || *parameter.element == workspace || parameter.lanes > 1) return Match::yes;
  if (size_bytes(*parameter.element) > size_bytes(workspace)) return Match::no;
  return is_floating(workspace) && is_floating(*parameter.element) ? Match::perhaps : Match::yes;
}

Match scalar_match(ElementType passed, const ParameterType& parameter) {
  if (!parameter.element || *parameter.element == passed) return Match::yes;
  if (parameter.lanes > 1) return Match::perhaps;
  return is_floating(passed) || is_floating(*parameter.element) ? Match::no : Match::yes;
}

/// Outputs that some launch takes as something to write.
std::set<std::string> written_buffers(const Instance& instance,
                                      const std::vector<std::vector<ParameterType>>& signatures) {
  std::set<std::string> written;
  for (const GpuStep& step : instance.steps) written.insert(step.to);
  for (std::size_t launch = 0; launch < instance.launches.size(); ++launch) {
    const auto& arguments = instance.launches[launch].arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool is_known = i < signatures[launch].size() && arguments[i].kind == Argument::Kind::buffer;
      if (!is_known || !signatures[launch][i].constant) written.insert(arguments[i].name);
    }
  }
  return written;
}

/// Null where it is none of the operation.
const Workload::SizedBuffer* sized_buffer(const Task& task, const std::string& name) {
  const auto& buffers = task.instantiator.workload().buffers;
  const auto found = std::ranges::find(buffers, name, &Workload::SizedBuffer::name);
  return found == buffers.end() ? nullptr : &*found;
}

bool is_output(const Task& task, const std::string& name) {
  const auto* const buffer = sized_buffer(task, name);
  return buffer != nullptr && buffer->role != BufferRole::in;
}

bool is_input(const Task& task, const std::string& name) {
  return sized_buffer(task, name) != nullptr && !is_output(task, name);
}

/// The least and the largest integer that an input may hold; none of what is not known without running
/// something, or of no integers.
std::optional<std::pair<double, double>> integers_of(const Task& task, const Workload::SizedBuffer& buffer) {
  const auto& computed = task.spec->operation.input_kernels;
  const bool is_computed =
      std::ranges::find(computed, buffer.name, &OperationKernel::input) != computed.end();
  if (buffer.role == BufferRole::out || is_floating(buffer.type) || buffer.file || is_computed ||
      buffer.elements == 0)
    return std::nullopt;
  const Workload::Values values = values_of(buffer);
  const auto last = static_cast<double>(buffer.elements - 1);
  if (!facts_of(values.distribution).integers) return std::nullopt;
  const TypeRange ends = ends_of(values.distribution, values.a, values.b, last);
  // The last offset is an end.
  return std::pair(ends.lowest, ends.highest - (values.distribution == Distribution::offsets ? 1 : 0));
}

/// The buffer that a kernel gets as the parameter of that name, where the source and the manifest agree on
/// how many there are.
const Workload::SizedBuffer* buffer_passed(const Task& task, const KernelText& kernel, std::size_t launch,
                                           const std::string& parameter) {
  const std::vector<Argument>& arguments = task.spec->launches[launch].arguments;
  const std::vector<std::string>& names = kernel.parameter_names;
  if (names.size() != arguments.size()) return nullptr;
  const auto place =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), parameter) - names.begin());
  if (place == names.size() || arguments[place].kind != Argument::Kind::buffer) return nullptr;
  return sized_buffer(task, arguments[place].name);
}

/// What is wrong with the values of indices; none: nothing that is known.
std::optional<UserError> index_note(const Task& task, const KernelText& kernel, std::size_t launch,
                                    const IndexUse& use) {
  const auto* const indices = buffer_passed(task, kernel, launch, use.array);
  const auto* const indexed = buffer_passed(task, kernel, launch, use.indexed);
  if (use.form != IndexForm::whole || indices == nullptr || indexed == nullptr) return std::nullopt;
  const auto range = integers_of(task, *indices);
  if (!range || (range->first >= 0 && range->second < static_cast<double>(indexed->elements)))
    return std::nullopt;
  return UserError(
      fmt::format(
          "{} holds integers from {} to {}, which line {} of {} uses as indices of {}, and that has {}",
          indices->name, range->first, range->second, use.line, task.source->name, indexed->name,
          counted(static_cast<std::size_t>(indexed->elements), "element")),
      elements_place(*task.spec, indices->name),
      fmt::format(R"x(Give {} the "values" "randint(0, N)", unless the kernel checks them first.)x",
                  indices->name));
}

/// Adds what is wrong with a launch's arguments, which stand at `place` in the manifest. Outputs that are
/// `written` elsewhere may be const.
void compare_types(const CheckedBuild& build, const std::vector<ArgumentValue>& arguments,
                   const std::vector<ParameterType>& signature, const std::vector<PointerUse>& uses,
                   const Where& place, const std::set<std::string>& written,
                   std::vector<CheckFinding>& findings) {
  const Task& task = *build.task;
  const bool is_operation = build.kernel != nullptr;
  if (arguments.size() != signature.size()) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentValue& argument = arguments[i];
    const ParameterType& parameter = signature[i];
    const bool is_buffer = argument.kind == Argument::Kind::buffer;
    const bool is_texture = i < uses.size() && uses[i].texture;
    if (argument.kind == Argument::Kind::tensor_map || argument.kind == Argument::Kind::peers) continue;
    const auto add = [&](bool is_error, const std::string& what, const char* remedy) {
      const std::string kernel = is_operation ? build.kernel->label() : "the kernel";
      findings.push_back(
          {is_error, task.spec->label(), "",
           UserError(fmt::format("argument {} of {}, {}, is {}, and the kernel takes {}", i + 1, kernel,
                                 argument.name, what,
                                 is_texture ? "a texture or surface object" : parameter.text()),
                     is_operation ? place : place.at(i), remedy)});
    };
    const auto& arrays = build.instance.workspace;
    const auto array = std::ranges::find(arrays, argument.name, &SizedWorkspace::name);
    const bool is_workspace = is_buffer && array != arrays.end();
    ElementType type = is_workspace ? array->type
                       : is_buffer  ? task.instantiator.workload().buffer(argument.name).type
                                    : argument.type;
    const bool is_widened = is_operation && is_buffer && build.kernel->is_reference() && is_floating(type);
    if (is_widened) type = ElementType::f64;
    const bool is_null = !is_buffer && argument.type == ElementType::i64 &&
                         argument.value == Value(std::int64_t{0}) && parameter.pointer;
    if (is_null) continue;
    const bool is_other_kind = is_texture || is_buffer != parameter.pointer;
    const Match match = is_other_kind  ? Match::no
                        : !is_buffer   ? scalar_match(type, parameter)
                        : is_workspace ? workspace_match(type, parameter)
                                       : pointer_match(type, parameter);
    if (match != Match::yes)
      add(match == Match::no,
          fmt::format("{} {}", is_buffer ? "an array of" : "a scalar of type", name(type)),
          is_texture      ? "They are not supported as inputs: take a pointer to const instead."
          : is_other_kind ? is_buffer ? "Let the kernel take a pointer there, or pass a scalar."
                                      : "Pass a buffer or a workspace there."
          : is_widened    ? "A reference takes double* for every floating-point buffer."
          : is_operation  ? "Take the type of the buffer or scalar."
          : is_buffer     ? "Give the buffer or workspace the kernel's type."
                          : "Give \"type\" the kernel's type.");
    else if (!is_operation && is_buffer && parameter.constant && !written.contains(argument.name) &&
             is_output(task, argument.name))
      add(true, "an output", "Remove const, or correct the buffer's role or the order of the arguments.");
    else if (!is_operation && is_buffer && i < uses.size() && uses[i].written &&
             is_input(task, argument.name))
      add(false, "an input that the kernel may write to", R"(Give the buffer the role "inout" or "out".)");
  }
}

}  // namespace

std::vector<CheckFinding> index_notes(const Task& task) {
  std::vector<CheckFinding> findings;
  const auto add = [&](const UserError& note) {
    findings.push_back({false, task.spec->label(), task.problem.label(), note});
  };
  if (const auto facts = facts_of(task))
    for_each_launch(task, *facts, [&](std::size_t launch, const KernelText& kernel) {
      for (const IndexUse& use : kernel.indices.uses)
        if (const auto note = index_note(task, kernel, launch, use)) add(*note);
    });
  return findings;
}

std::vector<CheckFinding> source_notes(const Task& task, const Dependencies& dependencies) {
  const auto facts = facts_of(task);
  if (!facts) return {};
  std::vector<UserError> notes;
  note_macros(task, dependencies, notes);
  for_each_launch(task, *facts, [&](std::size_t launch, const KernelText& kernel) {
    note_launch(*task.spec, launch, kernel, notes);
  });
  std::vector<CheckFinding> findings;
  for (UserError& note : notes) findings.push_back({false, task.spec->name, "", std::move(note)});
  return findings;
}

std::optional<UserError> kernel_name_fault(const Task& task, const Compiled& compiled) {
  const auto facts = facts_of(task);
  const bool pastes_names = task.source->text.find("##") != std::string::npos;
  if (!facts || pastes_names) return std::nullopt;
  const std::set<std::string> names = names_in(*task.source, compiled.dependencies);
  for (std::size_t launch = 0; launch < task.spec->launches.size(); ++launch) {
    const std::string& kernel = task.spec->launches[launch].kernel;
    auto overloads = overload_fault(kernel, compiled.reason, launch_place(*task.spec, launch).at("kernel"));
    if (overloads) return overloads;
    if (names.contains(std::string(unqualified(kernel)))) continue;
    std::vector<std::string> known;
    for (const KernelText& one : facts->kernels) known.push_back(one.name);
    return UserError(fmt::format("{} has no kernel '{}'", task.source->name, kernel),
                     launch_place(*task.spec, launch).at("kernel"),
                     "Name a __global__ function of it." + suggestion(kernel, known));
  }
  return std::nullopt;
}

std::optional<UserError> constant_fault(const Task& task, const std::vector<Resources>& resources) {
  std::vector<std::string> known;
  for (const Resources& kernel : resources)
    for (const auto& [symbol, bytes] : kernel.constants) known.push_back(variable_of_symbol(symbol));
  for (const ConstantMemory& constant : task.spec->constants) {
    if (std::ranges::find(known, constant.symbol) != known.end()) continue;
    return UserError(fmt::format("{} has no __constant__ variable '{}' that a kernel uses",
                                 task.spec->source.string(), constant.symbol),
                     constant.where,
                     "Name a __constant__ variable of it." + suggestion(constant.symbol, known));
  }
  return std::nullopt;
}

std::vector<CheckFinding> buffer_faults(const Task& task) {
  const TemplateSpec& spec = *task.spec;
  std::vector<CheckFinding> findings;
  for (const Workload::SizedBuffer& buffer : task.instantiator.workload().buffers) {
    if (buffer.role == BufferRole::in || buffer.elements > 0) continue;
    findings.push_back(
        {true, spec.label(), task.problem.label(),
         UserError(fmt::format("the output {} has 0 elements at {}", buffer.name, task.problem.label()),
                   elements_place(spec, buffer.name), "Correct \"elements\", or leave the problem out.")});
  }
  for (std::size_t launch = 0; launch < spec.launches.size(); ++launch) {
    const std::vector<Argument>& arguments = spec.launches[launch].arguments;
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto& [kind, name, map] = std::tie(arguments[i].kind, arguments[i].name, arguments[i].tensor_map);
      if (kind == Argument::Kind::scalar || kind == Argument::Kind::peers || !is_output(task, name)) continue;
      const auto [first, is_new] = places.try_emplace({name, map ? map->when.text : ""}, i);
      if (is_new) continue;
      const bool has_map = map || arguments[first->second].tensor_map;
      findings.push_back(
          {true, spec.label(), "",
           UserError(
               fmt::format("arguments {} and {} of the kernel '{}' are both {}, which it writes",
                           first->second + 1, i + 1, spec.launches[launch].kernel, name),
               launch_place(spec, launch).at("arguments").at(i),
               has_map
                   ? R"(Pass it once; give a tensor map that replaces the address in some configurations a "when".)"
                   : "Pass it once, with the role inout where it is read too, or pass another buffer.")});
    }
  }
  return findings;
}

std::vector<CheckFinding> type_faults(const CheckedBuild& build, const Compiled& compiled) {
  if (!compiled.binary) return {};
  const Task& task = *build.task;
  const std::vector<std::string>& symbols = compiled.binary->kernel_symbols;
  const std::size_t kernels = build.request.kernel_expressions.size();
  std::vector<std::vector<ParameterType>> signatures;
  std::vector<std::vector<PointerUse>> uses(kernels);
  for (std::size_t i = 0; i < kernels; ++i) {
    signatures.push_back(parameter_types(symbols[i]));
    if (symbols.size() > kernels) uses[i] = pointer_uses(compiled.binary->cubin, symbols[kernels + i]);
  }
  std::vector<CheckFinding> findings;
  if (build.kernel != nullptr) {
    const Where operation = task.spec->where.at("operation");
    compare_types(build, build.kernel->launch->arguments, signatures.front(), uses.front(),
                  build.kernel->is_reference() ? operation.at("reference") : operation, {}, findings);
    return findings;
  }
  const std::set<std::string> written = written_buffers(build.instance, signatures);
  for (std::size_t i = 0; i < build.instance.launches.size(); ++i) {
    const KernelLaunch& launch = build.instance.launches[i];
    if (symbols.size() > kernels && waits_for_grid(compiled.binary->cubin, symbols[kernels + i]))
      findings.push_back(
          {true, task.spec->label(), "",
           UserError(
               fmt::format("the kernel '{}' has a grid-wide barrier, such as grid.sync(), which needs a "
                           "cooperative launch",
                           launch.kernel_expression),
               launch_place(*task.spec, launch.listed),
               "Cooperative launches are not supported: split the kernel there into two launches.")});
    compare_types(build, launch.arguments, signatures[i], uses[i],
                  launch_place(*task.spec, launch.listed).at("arguments"), written, findings);
  }
  return findings;
}

namespace {

/// Configurations that must agree before a template is refused.
constexpr std::size_t kMostWitnesses = 4;
/// Configurations that are tried to find some that can be launched.
constexpr std::uint64_t kMostTried = 64;

/// A kernel that compiles for longer is not checked: the sweep compiles it, too.
constexpr std::chrono::seconds kMostTime{5};

/// Compares the types of arguments and parameters, as far as time allows.
class TypeCheck {
 public:
  TypeCheck(const TuneSpec& spec, const std::vector<Task>& tasks, const Target& target,
            const CompilePoolOptions& compile, const Database& database, const Stop& stop)
      : spec_(spec),
        tasks_(tasks),
        target_(target),
        database_(database),
        stop_(stop),
        pool_(with_folders(compile, spec, tasks)) {}

  std::vector<UserError> run() {
    const std::vector<CheckedBuild> builds = first_builds();
    const std::vector<Faults> found = faults_of(builds);
    Faults faults;
    for (std::size_t i = 0; i < builds.size(); ++i)
      if (builds[i].kernel != nullptr) faults.insert(faults.end(), found[i].begin(), found[i].end());
    for (std::size_t i = 0; i < builds.size(); ++i) {
      if (builds[i].kernel != nullptr || found[i].empty()) continue;
      // The faults that all of some configurations have.
      std::map<std::string, std::size_t> counts;
      const auto of_each =
          faults_of(sample_builds(spec_, *builds[i].task, target_, kMostWitnesses, kMostTried));
      for (const Faults& of_one : of_each)
        for (const UserError& fault : of_one)
          if (++counts[fault.what()] == of_each.size()) faults.push_back(fault);
    }
    return faults;
  }

 private:
  using Faults = std::vector<UserError>;

  /// A configuration of each template, and the kernels of operations, which several templates may share.
  std::vector<CheckedBuild> first_builds() {
    std::vector<CheckedBuild> builds;
    std::set<std::string> seen, kernels;
    for (const Task& task : tasks_) {
      if (!task.source || is_compiled(task.spec->source) || seen.contains(task.spec->label())) continue;
      for (CheckedBuild& build : sample_builds(spec_, task, target_, 1, kMostTried)) {
        seen.insert(task.spec->label());
        // What is in the cache costs nothing; a source that the database knows was checked before its rows.
        if (!pool_.find(types_request(build.request)) && !database_.find_source(build.request.key()).empty())
          continue;
        for (const TaskKernel& kernel : task.kernels) {
          CompileRequest request = kernel_request(spec_, task, kernel, target_.architecture);
          if (kernels.insert(request.key()).second)
            builds.push_back({&task, {}, std::move(request), &kernel});
        }
        builds.push_back(std::move(build));
      }
    }
    return builds;
  }

  /// In the order of the builds; none of one whose types are not known.
  std::vector<Faults> faults_of(const std::vector<CheckedBuild>& builds) {
    std::vector<Faults> all(builds.size());
    // What is not compiled in time is delivered to nobody, though this may be called again: the time and the
    // stop, which end every later wait at once, do not come back.
    for (std::size_t i = 0; i < builds.size(); ++i)
      pool_.submit(types_request(builds[i].request), [&builds, &all, i](const Compiled& compiled) {
        for (CheckFinding& finding : type_faults(builds[i], compiled))
          if (finding.is_error) all[i].push_back(std::move(finding.what));
      });
    while (pool_.pending() > 0 && !stop_() && Clock::now() < until_)
      if (pool_.deliver() == 0) wait_for_work(pool_, {}, until_);
    return all;
  }

  const TuneSpec& spec_;
  const std::vector<Task>& tasks_;
  const Target& target_;
  const Database& database_;
  const Stop& stop_;
  CompilePool pool_;
  const Clock::time_point until_ = Clock::now() + kMostTime;
};

}  // namespace

std::vector<UserError> sweep_faults(const TuneSpec& spec, const std::vector<Task>& tasks,
                                    const Target& target, const CompilePoolOptions& compile,
                                    const Database& database, const Stop& stop) {
  std::vector<UserError> faults;
  std::set<std::string> reported;
  for (const Task& task : tasks) {
    for (const CheckFinding& finding : buffer_faults(task))
      if (finding.is_error && reported.insert(finding.what.what()).second) faults.push_back(finding.what);
  }
  for (UserError& fault : TypeCheck(spec, tasks, target, compile, database, stop).run())
    faults.push_back(std::move(fault));
  return faults;
}

}  // namespace tiletune
