#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "foreign/format.h"

namespace tiletune {

namespace {

// Kernel Tuner's cache files: {"device_name", "kernel_name", "problem_size", "tune_params_keys", ...,
// "cache": {"16,1": {every parameter, "time", "times", ...}}}; times in milliseconds.

/// What old versions give as the time of a configuration that did not run.
constexpr double kNoTime = 1e20;

constexpr std::array kKernelTunerWords{
    ForeignOutcome{"InvalidConfig", Outcome::refused, "refused before it was compiled or launched"},
    ForeignOutcome{"CompilationFailedConfig", Outcome::compile_failed, "does not compile"},
    ForeignOutcome{"RuntimeFailedConfig", Outcome::launch_failed, "cannot be launched, or fails as it runs"}};

class KernelTunerFormat : public ForeignFormat {
 public:
  KernelTunerFormat(const JsonValue& header, const ImportFacts& facts, const std::string& file) {
    const Where where{file, "/tune_params_keys"};
    const JsonValue* keys = find(header, "tune_params_keys");
    if (keys == nullptr || !keys->IsArray())
      throw UserError("a Kernel Tuner cache lists its parameters here", where,
                      "Is this a cache of Kernel Tuner?");
    for (const JsonValue& key : keys->GetArray()) {
      if (!key.IsString()) throw UserError("a parameter's name is not a string", where, "Correct it.");
      if (std::find(parameters_.begin(), parameters_.end(), text(key)) != parameters_.end())
        throw named_twice(text(key), where);
      parameters_.emplace_back(text(key));
    }
    shared_ = shared_row("Kernel Tuner", file, text_of(header, "device_name"),
                         problem_text(find(header, "problem_size")), text_of(header, "kernel_name"), facts);
    unit_ = facts.time_unit.empty() ? kMillisecond : time_unit("", facts, {file, ""});
  }

  void read(const JsonValue& row, const std::string& key, const Where& where, Trial& trial) override {
    read_parameters(row, key, where, trial);
    trial.recorded_at = utc_time(text_of(row, "timestamp"));
    trial.compile_ms = figure_of(row, "compile_time");
    trial.measure_ms = figure_of(row, "benchmark_time");
    const JsonValue* time = find(row, "time");
    // Later versions have a key of its own for what failed, and no time.
    if (const JsonValue* error = find(row, "__error__"); error != nullptr && error->IsString())
      return set_outcome(kKernelTunerWords, text(*error), kNeither, where, "__error__", trial);
    if (time != nullptr && time->IsString())
      return set_outcome(kKernelTunerWords, text(*time), kNeither, where, "time", trial);
    if (time == nullptr || !time->IsNumber())
      throw UserError("the row has no time", where.at("time"), "Remove the row.");
    if (time->GetDouble() >= kNoTime) {
      trial.outcome = Outcome::launch_failed;
      trial.reason = "did not run; the file does not say why (time 1e20)";
      return;
    }
    trial.outcome = Outcome::ok;
    set_times(time->GetDouble() * unit_, find(row, "times"), unit_, where, trial);
    // The tool's own figure is at its mean; ours is at the median.
    if (const auto gflops = figure_of(row, "GFLOP/s"))
      trial.tflops = *gflops / 1e3 * *trial.mean_us / *trial.median_us;
  }

 private:
  static constexpr const char* kNeither = "is neither a time nor a known failure";

  /// The key lists all values, too, unless one of them has a comma.
  void read_parameters(const JsonValue& row, const std::string& key, const Where& where, Trial& trial) const {
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    const std::vector<std::string> written = split(key, ',');
    std::vector<JsonValue> in_key;
    if (written.size() == parameters_.size())
      for (const std::string& each : written) in_key.push_back(value_of(trim(each)));
    for (const std::string& name : parameters_) {
      const JsonValue* value = nullptr;
      for (const auto& member : row.GetObject()) {
        if (text(member.name) != name) continue;
        if (value != nullptr) throw named_twice(name, where);
        value = &member.value;
      }
      if (value == nullptr && in_key.empty())
        throw UserError(fmt::format("the row has no value of the parameter '{}'", name), where,
                        "Correct or remove the row.");
      const std::size_t i = parameters.size();
      if (value == nullptr) {
        value = &in_key[i];
      } else if (!in_key.empty() && differ(*value, in_key[i], trim(written[i]))) {
        throw UserError(fmt::format("the key has {} for the parameter '{}', but the row has {}",
                                    trim(written[i]), name, to_json_text(*value)),
                        where, "Correct or remove the row.");
      }
      parameters.emplace_back(name, value);
    }
    set_parameters(parameters, where, trial);
  }

  /// Whether a value cannot be what the key says, which is written as Python's str() does.
  static bool differ(const JsonValue& value, const JsonValue& in_key, std::string_view written) {
    const auto is_number = [](const JsonValue& each) { return each.IsNumber() || each.IsBool(); };
    const auto number = [](const JsonValue& each) {
      return each.IsBool() ? each.GetBool() : each.GetDouble();
    };
    if (value.IsString()) return text(value) != written;
    return is_number(value) && !(is_number(in_key) && number(value) == number(in_key));
  }

  std::vector<std::string> parameters_;
  double unit_ = kMillisecond;
};

// The JSON output of KTT (Kernel Tuning Toolkit) 2: {"Metadata": {"Device", "TimeUnit", ...}, "Results":
// [{"KernelName", "Status", "TotalDuration", "Configuration": [{"Name", "Value"}], "ComputationResults"}]}.

constexpr std::array kKttWords{
    ForeignOutcome{"Ok", Outcome::ok, ""},
    ForeignOutcome{"ComputationFailed", Outcome::launch_failed, "cannot be launched, or fails as it runs"},
    ForeignOutcome{"ValidationFailed", Outcome::wrong_result, "its results are wrong"},
    ForeignOutcome{"CompilationFailed", Outcome::compile_failed, "does not compile"},
    ForeignOutcome{"DeviceLimitsExceeded", Outcome::refused, "needs more than the GPU has"}};

class KttFormat : public ForeignFormat {
 public:
  KttFormat(const JsonValue& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    const JsonValue* metadata = find(header, "Metadata");
    const auto said = [&](const char* name) {
      return metadata == nullptr ? std::string_view() : text_of(*metadata, name);
    };
    unit_ = time_unit(said("TimeUnit"), facts, Where{file, "/Metadata/TimeUnit"});
    // Rows name their kernel themselves.
    ImportFacts of_file = facts;
    of_file.kernel = "KTT";
    shared_ = shared_row("KTT", file, said("Device").empty() ? said("DeviceName") : said("Device"), "", "",
                         of_file);
    shared_.recorded_at = utc_time(said("Timestamp"));
  }

  void read(const JsonValue& row, const std::string& /*name*/, const Where& where, Trial& trial) override {
    set_kernel(text_of(row, "KernelName"), facts_, where, trial);
    read_configuration(row, where.at("Configuration"), trial);
    set_outcome(kKttWords, text_of(row, "Status"), "is not a known status", where, "Status", trial);
    read_registers(row, trial);
    if (trial.outcome != Outcome::ok) return;
    auto time = number_of(row, "TotalDuration");
    if (time) *time *= unit_;
    set_times(time, nullptr, unit_, where.at("TotalDuration"), trial);
  }

  static bool is_profiled(const JsonValue& row) {
    const auto results = elements_of(row, "ComputationResults");
    return std::any_of(results.begin(), results.end(),
                       [](const JsonValue& result) { return find(result, "ProfilingData") != nullptr; });
  }

 private:
  static void read_configuration(const JsonValue& row, const Where& where, Trial& trial) {
    if (const JsonValue* list = find(row, "Configuration"); list == nullptr || !list->IsArray())
      throw UserError("the row has no configuration", where, "Is this an output of KTT?");
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const JsonValue& pair : elements_of(row, "Configuration")) {
      parameters.emplace_back(text_of(pair, "Name"), find(pair, "Value"));
      if (parameters.back().second == nullptr || parameters.back().first.empty())
        throw UserError("a parameter lacks its name or its value", where, "Correct or remove the row.");
    }
    set_parameters(parameters, where, trial);
  }

  /// Reads the registers of the only kernel function: several functions are different kernels.
  static void read_registers(const JsonValue& row, Trial& trial) {
    int functions = 0;
    for (const JsonValue& result : elements_of(row, "ComputationResults")) {
      const JsonValue* data = find(result, "CompilationData");
      const JsonValue* count = data == nullptr ? nullptr : find(*data, "RegistersCount");
      if (count != nullptr && count->IsInt64() && is_figure(count->GetDouble()) && ++functions == 1)
        trial.registers = count->GetInt64();
    }
    if (functions > 1) trial.registers.reset();
  }

  ImportFacts facts_;
  double unit_ = 1;
};

// T4 results: {"metadata": {"timeunit"}, "results": [{"timestamp", "configuration", "times": {"runtimes"},
// "invalidity", "measurements": [{"name", "value", "unit"}], "objectives"}]}. Tiletune's own say more: in
// members "tiletune" GPU, problem and kernel of the file, and the outcome of each row; in measurements the
// "statistic" that their value is.

constexpr std::array kT4Words{
    ForeignOutcome{"correct", Outcome::ok, ""},
    ForeignOutcome{"compile", Outcome::compile_failed, "does not compile"},
    ForeignOutcome{"runtime", Outcome::launch_failed, "cannot be launched, or fails as it runs"},
    ForeignOutcome{"correctness", Outcome::wrong_result, "its results are wrong"},
    ForeignOutcome{"constraints", Outcome::refused, "refused before it was compiled or launched"},
    ForeignOutcome{"timeout", Outcome::timeout, "took too long"}};

/// The measurement called "time".
const JsonValue* time_of(const JsonValue& row) {
  for (const JsonValue& measurement : elements_of(row, "measurements"))
    if (text_of(measurement, "name") == "time") return &measurement;
  return nullptr;
}

/// Whether the row's `correctness` says so, whatever its `invalidity` says.
bool is_wrong(const JsonValue& row) {
  const JsonValue* correctness = find(row, "correctness");
  if (correctness == nullptr) return false;
  return correctness->IsFalse() || (correctness->IsNumber() && correctness->GetDouble() == 0);
}

class T4Format : public ForeignFormat {
 public:
  T4Format(const JsonValue& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    const JsonValue* metadata = find(header, "metadata");
    if (metadata != nullptr) timeunit_ = text_of(*metadata, "timeunit");
    const JsonValue* own = metadata == nullptr ? nullptr : find(*metadata, "tiletune");
    if (own != nullptr) statistic_ = "median";  // version 0.2 of tiletune does not name it
    const auto said = [&](const char* name) { return own == nullptr ? "" : text_of(*own, name); };
    shared_ = shared_row("T4", file, said("gpu"), said("problem"), said("template"), facts);
  }

  void read(const JsonValue& row, const std::string& /*name*/, const Where& where, Trial& trial) override {
    const JsonValue* configuration = find(row, "configuration");
    if (configuration == nullptr || !configuration->IsObject())
      throw UserError("the row has no configuration", where.at("configuration"),
                      "Is this a file of T4 results?");
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const auto& member : configuration->GetObject())
      parameters.emplace_back(text(member.name), &member.value);
    set_parameters(parameters, where.at("configuration"), trial);
    trial.recorded_at = utc_time(text_of(row, "timestamp"));
    set_outcome(kT4Words, text_of(row, "invalidity"), "is not a known invalidity", where, "invalidity",
                trial);
    // T4 has no word for what ran, and was given up as slow.
    const JsonValue* own = find(row, "tiletune");
    if (own != nullptr && text_of(*own, "outcome") == tiletune::name(Outcome::screened_out))
      trial.outcome = Outcome::screened_out;
    if (trial.outcome == Outcome::ok && is_wrong(row)) {
      trial.outcome = Outcome::wrong_result;
      trial.reason = "its results are wrong (correctness 0)";
    }
    const JsonValue* time = time_of(row);
    const JsonValue* value = time == nullptr ? nullptr : find(*time, "value");
    // The tool's own word says more than T4's.
    if (trial.outcome != Outcome::ok && value != nullptr && value->IsString())
      trial.reason = trial.reason.substr(0, trial.reason.rfind('(') + 1) + std::string(text(*value)) + ")";
    const JsonValue* times = find(row, "times");
    auto compilation = times == nullptr ? std::nullopt : figure_of(*times, "compilation_time");
    if (times != nullptr && !compilation) compilation = figure_of(*times, "compilation");
    // A measurement has a unit of its own, or that of the file, of which --time-unit speaks. Where nobody
    // says the file's, the measurement's is that of the samples, too.
    const bool ran = trial.outcome == Outcome::ok || trial.outcome == Outcome::screened_out;
    const std::string_view own_unit = time == nullptr ? "" : text_of(*time, "unit");
    const bool is_said = !timeunit_.empty() || !facts_.time_unit.empty();
    if (!ran && !is_said && own_unit.empty()) return;
    const double unit = is_said || own_unit.empty()
                            ? time_unit(timeunit_, facts_, {where.file, "/metadata/timeunit"})
                            : time_unit(own_unit, {}, where);
    if (compilation)
      trial.compile_ms = unit == kMillisecond ? *compilation : *compilation * unit / kMillisecond;
    if (!ran) return;
    std::optional<double> value_us;
    if (value != nullptr && value->IsNumber())
      value_us = value->GetDouble() * (own_unit.empty() ? unit : time_unit(own_unit, {}, where));
    const JsonValue* samples = times == nullptr ? nullptr : find(*times, "runtimes");
    set_times(value_us, samples, unit, where, trial);
    const std::string_view statistic = value_us ? text_of(*time, "statistic") : "";
    if (!value_us || (statistic.empty() ? statistic_ : statistic) != "median") return;
    trial.mean_us.reset();
    if (trial.sample_count) set_times({}, samples, unit, where, trial);
    trial.median_us = value_us;
  }

 private:
  ImportFacts facts_;
  std::string timeunit_;
  std::string_view statistic_ = "mean";  ///< that a value is whose row does not name it
};

/// What stands for the kernel, or the problem, of a whole file whose rows name their own.
constexpr const char* kOfEachRow = "of each row";

// NVBench's JSON: {"devices": [{"id", "name"}], "benchmarks": [{"name", "states": [{"device", "axis_values":
// [{"name", "type", "value"}], "summaries": [{"tag", "data": [{"name": "value", "value"}]}], "is_skipped",
// "skip_reason"}]}]}; numbers are written as strings, times in seconds.

class NvbenchFormat : public ForeignFormat {
 public:
  NvbenchFormat(const JsonValue& header, const ImportFacts& facts, const std::string& file) : facts_(facts) {
    for (const JsonValue& device : elements_of(header, "devices"))
      if (const JsonValue* id = find(device, "id"); id != nullptr && id->IsInt64())
        gpus_[id->GetInt64()] = text_of(device, "name");
    ImportFacts of_file = facts;
    of_file.kernel = kOfEachRow;
    shared_ = shared_row("NVBench", file, gpus_.empty() ? "" : gpus_.begin()->second, "", "", of_file);
  }

  void read(const JsonValue& row, const std::string& name, const Where& where, Trial& trial) override {
    set_kernel(name, facts_, where, trial);
    const JsonValue* device = find(row, "device");
    const auto gpu = device != nullptr && device->IsInt64() ? gpus_.find(device->GetInt64()) : gpus_.end();
    if (facts_.replayed || facts_.gpu.empty()) {
      if (gpu == gpus_.end() || gpu->second.empty())
        throw UserError("the file does not name this device", where.at("device"),
                        facts_.replayed ? "Correct or remove the row." : "Name it: --gpu NAME.");
      trial.gpu = gpu->second;
    }
    read_axes(row, where.at("axis_values"), trial);
    if (const JsonValue* skipped = find(row, "is_skipped"); skipped != nullptr && skipped->IsTrue()) {
      trial.outcome = Outcome::launch_failed;
      trial.reason = fmt::format("the benchmark skipped it ({})", text_of(row, "skip_reason"));
      return;
    }
    trial.outcome = Outcome::ok;
    const auto mean_us = time_us(row, "nv/cold/time/gpu/mean");
    set_times(mean_us ? mean_us : time_us(row, "nv/batch/time/gpu/mean"), nullptr, 1, where, trial);
    trial.min_us = time_us(row, "nv/cold/time/gpu/min");
    if (const auto median_us = time_us(row, "nv/cold/time/gpu/median")) trial.median_us = median_us;
    constexpr double kRounded = 1 - 1e-6;
    if (trial.min_us && kRounded * *trial.min_us > std::min(*trial.median_us, *trial.mean_us))
      throw UserError("the shortest time is longer than the mean or the median", where.at("summaries"),
                      "Correct or remove the row.");
  }

 private:
  /// Axes are parameters, but for those that --problem names: "M,N".
  void read_axes(const JsonValue& row, const Where& where, Trial& trial) const {
    std::vector<JsonValue> values;
    values.reserve(elements_of(row, "axis_values").Size());
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const JsonValue& axis : elements_of(row, "axis_values")) {
      values.push_back(text_of(axis, "type") == "string" ? as_value(text_of(axis, "value"))
                                                         : value_of(text_of(axis, "value")));
      parameters.emplace_back(text_of(axis, "name"), &values.back());
    }
    std::vector<std::string> sizes = split(facts_.problem, ',');
    for (std::string& size : sizes) {
      const auto axis = std::ranges::find(parameters, trim(size), &decltype(parameters)::value_type::first);
      if (axis == parameters.end() && sizes.size() == 1) break;  // it is the problem itself
      if (axis == parameters.end())
        throw UserError(fmt::format("there is no axis '{}', which --problem names", trim(size)), where,
                        "Name axes that every benchmark has (M,N), or the problem (4096x4096).");
      size = axis->second->IsString() ? text(*axis->second) : to_json_text(*axis->second);
      parameters.erase(axis);
      trial.problem = join(sizes, "x");
    }
    set_parameters(parameters, where, trial);
  }

  static std::optional<double> time_us(const JsonValue& row, std::string_view tag) {
    constexpr double kSecond = 1e6;
    for (const JsonValue& summary : elements_of(row, "summaries")) {
      if (text_of(summary, "tag") != tag) continue;
      for (const JsonValue& datum : elements_of(summary, "data"))
        if (const auto seconds = parsed_number<double>(text_of(datum, "value"));
            text_of(datum, "name") == "value" && seconds > 0.0 && is_figure(*seconds))
          return *seconds * kSecond;
    }
    return std::nullopt;
  }

  ImportFacts facts_;
  std::map<std::int64_t, std::string> gpus_;  ///< by their ids
};

// The CSV of CUTLASS's profiler: Problem, Provider, OperationKind, Operation, Disposition, Status, the
// operation's arguments (its kind, its sizes, its operands, how it is split), from op_class on the kernel's
// tiles, Bytes, Flops, Runtime (of one launch, a mean, in milliseconds), GB/s, GFLOPs.

constexpr std::array kCutlassWords{
    ForeignOutcome{"passed", Outcome::ok, ""},
    ForeignOutcome{"not_verified", Outcome::ok, ""},
    ForeignOutcome{"failed", Outcome::launch_failed, "cannot be launched, or fails as it runs"},
    ForeignOutcome{"not_run", Outcome::launch_failed, "was not run"},
    ForeignOutcome{"incorrect", Outcome::wrong_result, "its results are wrong"},
    ForeignOutcome{"not_supported", Outcome::refused, "refused before it was compiled or launched"},
    ForeignOutcome{"invalid_problem", Outcome::refused, "refused before it was compiled or launched"}};

class CutlassFormat : public ForeignFormat {
 public:
  CutlassFormat(const JsonValue& /*header*/, const ImportFacts& facts, const std::string& file) {
    ImportFacts gpu;
    gpu.gpu = facts.gpu;
    shared_ = shared_row("CUTLASS", file, "", kOfEachRow, kOfEachRow, gpu);
  }

  void read(const JsonValue& row, const std::string& /*name*/, const Where& where, Trial& trial) override {
    enum { before, sizes, operands, tiles, figures } at = before;
    trial.problem.clear();
    // Rows of other operands compute something else: they are not compared.
    trial.template_name = text_of(row, "OperationKind");
    std::vector<JsonValue> values;
    values.reserve(row.MemberCount());
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const auto& member : row.GetObject()) {
      const std::string_view column = text(member.name), value = text(member.value);
      if (at == sizes && !parsed_number<std::int64_t>(value)) at = operands;
      if (column == "op_class") at = tiles;
      if (column == "Bytes") at = figures;
      constexpr std::array<std::string_view, 7> kTuned{"Provider",       "Operation",    "split_k_mode",
                                                       "split_k_slices", "raster_order", "swizzle_size",
                                                       "use_pdl"};
      if (at == sizes) {
        trial.problem.append(trial.problem.empty() ? "" : "x").append(value);
      } else if (at == tiles ? column != "accum" : std::ranges::find(kTuned, column) != kTuned.end()) {
        values.push_back(value_of(value));
        parameters.emplace_back(column, &values.back());
      } else if (at == operands || at == tiles) {
        trial.template_name += fmt::format(" {}={}", column, value);
      }
      if (column.ends_with("_kind")) at = sizes;
    }
    if (at != figures || trial.problem.empty())
      throw UserError("the row has no sizes or no figures", where, "Is this a CSV of CUTLASS's profiler?");
    trial.operation = trial.template_name;
    set_parameters(parameters, where, trial);
    set_outcome(kCutlassWords, text_of(row, "Disposition"), "is not a known disposition", where,
                "Disposition", trial);
    if (trial.outcome != Outcome::ok) return;
    const double runtime_ms = parsed_number<double>(text_of(row, "Runtime")).value_or(0);
    set_times(runtime_ms * kMillisecond, nullptr, 1, where, trial);
    const auto gflops = parsed_number<double>(text_of(row, "GFLOPs"));
    if (gflops && is_figure(*gflops)) trial.tflops = *gflops / 1e3;
  }
};

// The autotuner's cache of Triton, KERNEL.autotune.json: {"key": ["1024", "1024", "torch.float16"],
// "configs_timings": [[{"kwargs": {"BLOCK": 64}, "num_warps": 4, ...}, [median, 20%, 80%]]]}; times in
// milliseconds, Infinity where a configuration did not run.

class TritonFormat : public ForeignFormat {
 public:
  TritonFormat(const JsonValue& header, const ImportFacts& facts, const std::string& file) {
    const std::string name = std::filesystem::path(file).filename().string();
    std::string kernel = name.substr(0, name.find(".autotune.json"));
    std::string problem;
    for (const JsonValue& key : elements_of(header, "key")) {
      if (!key.IsString())
        throw UserError("a part of the key is not a string", Where{file, "/key"},
                        "Is this a cache of Triton's autotuner?");
      // Kernels for other types compute something else: they are not compared.
      const bool is_size = parsed_number<std::int64_t>(text(key)).has_value();
      std::string& list = is_size ? problem : kernel;
      list.append(list.empty() ? "" : is_size ? "x" : " ").append(text(key));
    }
    shared_ = shared_row("Triton", file, "", problem, kernel, facts);
    time_unit("ms", facts, {file, ""});
  }

  void read(const JsonValue& row, const std::string& /*name*/, const Where& where, Trial& trial) override {
    if (!row[0].IsObject())
      throw UserError("the row has no configuration", where.at(0), "Is this a cache of Triton's autotuner?");
    std::vector<std::pair<std::string_view, const JsonValue*>> parameters;
    for (const auto& member : row[0].GetObject()) {
      if (text(member.name) == "kwargs" && member.value.IsObject()) {
        for (const auto& kwarg : member.value.GetObject())
          parameters.emplace_back(text(kwarg.name), &kwarg.value);
      } else if (!member.value.IsNull()) {
        parameters.emplace_back(text(member.name), &member.value);
      }
    }
    set_parameters(parameters, where.at(0), trial);
    const bool is_list = row[1].IsArray() && !row[1].Empty();
    const JsonValue& time = is_list ? row[1][0] : row[1];
    if (!time.IsNumber()) throw UserError("the row has no time", where.at(1), "Correct or remove the row.");
    if (std::isinf(time.GetDouble())) {
      trial.outcome = Outcome::launch_failed;
      trial.reason = "cannot be compiled or launched (time Infinity)";
      return;
    }
    trial.outcome = Outcome::ok;
    set_times(time.GetDouble() * kMillisecond, nullptr, 1, where.at(1), trial);
    if (is_list) trial.mean_us.reset();
  }
};

template <typename Format>
std::unique_ptr<ForeignFormat> make(const JsonValue& header, const ImportFacts& facts,
                                    const std::string& file) {
  return std::make_unique<Format>(header, facts, file);
}

/// Refuses what `export` wrote: databases are joined as they are.
std::unique_ptr<ForeignFormat> refuse_own_export(const JsonValue& /*header*/, const ImportFacts& /*facts*/,
                                                 const std::string& file) {
  throw UserError("this is an export of tiletune's", Where{file, "/trials"},
                  "Join the database that it was exported from: tiletune merge FILE.db -o ALL.db");
}

}  // namespace

const FormatKind* kind_of(std::string_view rows) {
  static constexpr std::array kKinds{
      FormatKind{"Kernel Tuner cache", "cache", "tune_params_keys", make<KernelTunerFormat>},
      FormatKind{"T4 results", "results", "metadata", make<T4Format>},
      FormatKind{"KTT output", "Results", "Metadata", make<KttFormat>, nullptr, KttFormat::is_profiled, true},
      FormatKind{"NVBench output", "benchmarks", "devices", make<NvbenchFormat>, "states"},
      FormatKind{"CUTLASS profiler table", kTableRows, nullptr, make<CutlassFormat>},
      FormatKind{.name = "Triton autotuner cache",
                 .rows = "configs_timings",
                 .header = "key",
                 .make = make<TritonFormat>,
                 .are_pairs = true},
      FormatKind{"", "trials", "sweeps", refuse_own_export}};
  const auto* found = std::ranges::find(kKinds, rows, &FormatKind::rows);
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace tiletune
