#include "inspect/kernels.h"

#include <nvrtc.h>

#include <stdexcept>

namespace tiletune {

Binary compile_for_test(const std::string& source, const std::string& expression,
                        const std::string& architecture) {
  const std::string target = "--gpu-architecture=" + architecture;
  const char* const options[] = {target.c_str(), "--ptxas-options=-v"};
  nvrtcProgram program = nullptr;
  nvrtcCreateProgram(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  const bool is_template = expression.find('<') != std::string::npos;
  if (is_template) nvrtcAddNameExpression(program, expression.c_str());
  const nvrtcResult result = nvrtcCompileProgram(program, 2, options);
  Binary binary;
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  binary.log.resize(size);
  nvrtcGetProgramLog(program, binary.log.data());
  if (result != NVRTC_SUCCESS) throw std::runtime_error(binary.log);
  const char* lowered = expression.c_str();
  if (is_template) nvrtcGetLoweredName(program, expression.c_str(), &lowered);
  binary.kernel_symbol = lowered;
  nvrtcGetCUBINSize(program, &size);
  binary.cubin.resize(size);
  nvrtcGetCUBIN(program, binary.cubin.data());
  nvrtcDestroyProgram(&program);
  return binary;
}

const std::vector<GpuModel>& gpu_models() {
  static const std::vector<GpuModel> models =
      load_gpu_models(std::filesystem::path(TILETUNE_SOURCE_DIR) / "configs" / "gpus");
  return models;
}

const GpuModel& gpu(const std::string& name) { return find_gpu_model(gpu_models(), name); }

}  // namespace tiletune
