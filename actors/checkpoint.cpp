#include "actors/checkpoint.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "config/error.hpp"
#include "models/safetensors.hpp"

namespace rldp::actors {

namespace {

const std::string method_prefix = "method.";  // of its tensors' names

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const checkpoint& value) {
    const auto& [optimizer, method, trace, rest] = value.training;
    auto controller = torch::empty({static_cast<std::int64_t>(value.controller.size())}, torch::kUInt8);
    std::copy(value.controller.begin(), value.controller.end(), controller.data_ptr<std::uint8_t>());
    std::map<std::string, at::Tensor> tensors = {{"adapter", optimizer.parameters},
                                                 {"first_moment", optimizer.first},
                                                 {"second_moment", optimizer.second},
                                                 {"controller", controller}};
    if (trace.defined()) tensors["trace"] = trace;
    for (const auto& [name, tensor] : method.tensors) tensors[method_prefix + name] = tensor;
    models::save_safetensors(path, tensors,
                             {{"method", method.numbers},
                              {"optimizer_steps", std::to_string(optimizer.steps)},
                              {"training", rest},
                              {"charges", std::to_string(value.charged.seq)},
                              {"last_charge", value.charged.hash},
                              {"belongs_to", value.belongs_to}});
}

checkpoint read_checkpoint(const std::filesystem::path& path) {
    const models::safetensors_file file(path);
    const auto text = [&](const std::string& key) {
        const auto found = file.metadata().find(key);
        if (found == file.metadata().end())
            refuse(path.string() + ": metadata '" + key + "' is missing; not a checkpoint of RLDP");
        return found->second;
    };
    checkpoint out;
    out.training.optimizer = {.parameters = file.tensor("adapter").clone(),
                              .first = file.tensor("first_moment").clone(),
                              .second = file.tensor("second_moment").clone()};
    const auto whole = [&](const std::string& key, auto& value) {
        const auto digits = text(key);
        const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (wrong != std::errc{} || end != digits.data() + digits.size())
            refuse(path.string() + ": metadata '" + key + "' is no whole number; the checkpoint is damaged");
    };
    whole("optimizer_steps", out.training.optimizer.steps);
    whole("charges", out.charged.seq);
    out.charged.hash = text("last_charge");
    out.training.rest = text("training");
    out.training.method.numbers = text("method");
    for (const auto& name : file.names()) {
        if (name == "trace") out.training.trace = file.tensor(name).clone();
        if (name.starts_with(method_prefix))
            out.training.method.tensors.emplace_back(name.substr(method_prefix.size()), file.tensor(name).clone());
    }
    const auto controller = file.tensor("controller").contiguous();
    out.controller.assign(static_cast<const char*>(controller.data_ptr()),
                          static_cast<std::size_t>(controller.numel()));
    out.belongs_to = text("belongs_to");
    return out;
}

}  // namespace rldp::actors
