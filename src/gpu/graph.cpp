#include "gpu/graph.h"

#include "gpu/driver_api.h"

namespace tiletune {

namespace {

/// Ends a capture however the recorded function ends: a stream left capturing refuses everything else.
CUgraph capture(CUstream stream, const std::function<void()>& body) {
  const DriverApi& api = driver_api();
  check(api.capture_begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    body();
  } catch (...) {
    if (api.capture_end(stream, &graph) == CUDA_SUCCESS) api.graph_destroy(graph);
    throw;
  }
  check(api.capture_end(stream, &graph), "cuStreamEndCapture");
  return graph;
}

std::string kernel_name(CUgraphNode node) {
  const DriverApi& api = driver_api();
  CUgraphNodeType type{};
  if (api.graph_node_type(node, &type) != CUDA_SUCCESS || type != CU_GRAPH_NODE_TYPE_KERNEL) return "";
  CUDA_KERNEL_NODE_PARAMS parameters{};
  if (api.graph_kernel_parameters(node, &parameters) != CUDA_SUCCESS) return "";
  const char* name = nullptr;
  const CUresult found = parameters.func != nullptr ? api.function_name(&name, parameters.func)
                                                    : api.kernel_name(&name, parameters.kern);
  return found == CUDA_SUCCESS && name != nullptr ? name : "";
}

}  // namespace

Graph::Graph(Gpu& gpu, const std::function<void()>& body) : gpu_(gpu), graph_(capture(gpu.stream(), body)) {
  const CUresult made = driver_api().graph_instantiate(&executable_, graph_, 0);
  if (made != CUDA_SUCCESS) driver_api().graph_destroy(graph_);
  check(made, "cuGraphInstantiate");
}

Graph::~Graph() {
  driver_api().graph_executable_destroy(executable_);
  driver_api().graph_destroy(graph_);
}

void Graph::launch() { check(driver_api().graph_launch(executable_, gpu_.stream()), "cuGraphLaunch"); }

std::vector<std::string> Graph::kernel_names() const {
  const DriverApi& api = driver_api();
  if (api.function_name == nullptr || api.kernel_name == nullptr) return {};
  std::size_t count = 0;
  check(api.graph_nodes(graph_, nullptr, &count), "cuGraphGetNodes");
  std::vector<CUgraphNode> nodes(count);
  check(api.graph_nodes(graph_, nodes.data(), &count), "cuGraphGetNodes");
  std::vector<std::string> names;
  for (CUgraphNode node : nodes) {
    std::string name = kernel_name(node);
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tiletune
