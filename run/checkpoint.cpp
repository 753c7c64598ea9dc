#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "run/artifacts/run_log.hpp"
#include "run/checkpoint.hpp"

namespace rldp::actors {

namespace {

const std::string sealed = "seal";  // metadata key

/// Over all texts but the seal itself, and all tensors: contiguous, on the CPU.
std::string compute_seal(const sealed_tensors& value, const std::string& kind, const privacy::file_seal& seal) {
    privacy::file_seal::stream out(seal, kind);
    for (const auto& [key, text] : value.texts)
        if (key != sealed) out.add(key).add(text);
    for (const auto& [name, tensor] : value.tensors) {
        out.add(name).add(at::toString(tensor.scalar_type()));
        for (const auto size : tensor.sizes()) out.add(std::to_string(size));
        out.add({static_cast<const char*>(tensor.data_ptr()), tensor.nbytes()});
    }
    return out.hex();
}

}  // namespace

void write_sealed(const std::filesystem::path& path, const std::string& kind, sealed_tensors value,
                  const privacy::file_seal& seal) {
    for (auto& [name, tensor] : value.tensors) tensor = tensor.detach().cpu().contiguous();
    value.texts[sealed] = compute_seal(value, kind, seal);
    models::save_safetensors(path, value.tensors, value.texts);
}

sealed_tensors read_sealed(const std::filesystem::path& path, const std::string& kind, const privacy::file_seal& seal) {
    const models::safetensors_file file(path);
    sealed_tensors out{{}, file.metadata()};
    for (const auto& name : file.names()) out.tensors[name] = file.tensor(name).clone();
    const auto found = out.texts.find(sealed);
    if (found == out.texts.end() || found->second != compute_seal(out, kind, seal))
        refuse(path.string() +
               ": is not as this run wrote it: damaged, edited, or another run's; bring back the run's own");
    out.texts.erase(sealed);
    return out;
}

std::vector<eval::metrics_line> known_lines(const eval::run_directory& where, const privacy::ledger_content& ledger,
                                            std::int64_t checkpointed, bool accept_lost) {
    auto found = eval::find_log(where.metrics(), ledger, checkpointed);
    if (!found.missing.empty() && !accept_lost)
        refuse(
            fmt::format("{}; so there is none of {}, and up to the checkpoint's step, {}, lines can't be made again: "
                        "bring back the run's own file, or leave such rows empty with rldp run --resume {} "
                        "--accept-lost-lines",
                        found.wrong.empty() ? where.metrics().string() + ": lines were taken away" : found.wrong,
                        eval::steps_in_words(found.missing), checkpointed, where.root.string()));
    for (const auto step : found.missing) found.lines.push_back(eval::lost_line(ledger, step));
    std::sort(found.lines.begin(), found.lines.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
    return std::move(found.lines);
}

bool has_evaluation(const std::vector<eval::metrics_line>& lines, std::int64_t step) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const auto& line) { return line.step == step && line.eval_perplexity; });
}

evaluations evaluations_in(const std::vector<eval::metrics_line>& lines) {
    evaluations out;
    for (const auto& line : lines)
        if (line.eval_perplexity) out.add(line.step, eval::scores_in(line));
    return out;
}

namespace {

const std::string checkpoint_kind = "checkpoint";
// Of their tensors' names.
const std::string method_prefix = "method.", optimizer_prefix = "optimizer.";
const std::string optimizer_numbers = "optimizer";  // metadata key

/// Takes parts of a checkpoint, each by its name.
struct checkpoint_reader {
    const std::filesystem::path& path;
    const sealed_tensors& all;

    at::Tensor tensor(const std::string& name) const {
        if (!all.tensors.contains(name))
            refuse(path.string() + ": tensor '" + name + "' is missing; not a checkpoint of RLDP");
        return all.tensors.at(name);
    }
    at::Tensor tensor_if_any(const std::string& name) const {
        return all.tensors.contains(name) ? all.tensors.at(name) : at::Tensor();
    }
    const std::string& text(const std::string& key) const {
        if (!all.texts.contains(key))
            refuse(path.string() + ": metadata '" + key + "' is missing; not a checkpoint of RLDP");
        return all.texts.at(key);
    }
    template <class Number>
    Number number(const std::string& key) const {
        const auto& digits = text(key);
        Number value{};
        const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (wrong != std::errc{} || end != digits.data() + digits.size())
            refuse(path.string() + ": metadata '" + key + "' is no such number; the checkpoint is damaged");
        return value;
    }
    models::optimizer_state optimizer() const;
};

models::optimizer_state checkpoint_reader::optimizer() const {
    models::optimizer_state out{.parameters = tensor("adapter")};
    if (!all.texts.contains(optimizer_numbers)) {  // of an earlier version, which knew adamw alone
        out.tensors = {{"first_moment", tensor("first_moment")}, {"second_moment", tensor("second_moment")}};
        out.numbers = nlohmann::json{{"noise", number<double>("optimizer_noise")},
                                     {"steps", number<std::int64_t>("optimizer_steps")}}
                          .dump();
        return out;
    }
    out.numbers = text(optimizer_numbers);
    for (const auto& [name, tensor] : all.tensors)
        if (name.starts_with(optimizer_prefix)) out.tensors[name.substr(optimizer_prefix.size())] = tensor;
    return out;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const checkpoint& value, const privacy::file_seal& seal) {
    const auto& [optimizer, method, trace, average, before, watched, rest] = value.training;
    // Of megabytes, and only read: no second copy of it.
    const auto controller = at::from_blob(const_cast<char*>(value.controller.data()),
                                          {static_cast<std::int64_t>(value.controller.size())}, at::kByte);
    sealed_tensors out;
    out.tensors = {{"adapter", optimizer.parameters}, {"controller", controller}};
    if (trace.defined()) out.tensors["trace"] = trace;
    if (average.defined()) out.tensors["average"] = average;
    if (before.defined()) out.tensors["before"] = before;
    if (watched.defined()) out.tensors["watched"] = watched;
    if (value.evaluating) out.tensors["evaluating"] = value.evaluating->adapter;
    for (const auto& [name, tensor] : optimizer.tensors) out.tensors[optimizer_prefix + name] = tensor;
    for (const auto& [name, tensor] : method.tensors) out.tensors[method_prefix + name] = tensor;
    out.texts = {{"method", method.numbers},
                 {optimizer_numbers, optimizer.numbers},
                 {"training", rest},
                 {"charges", std::to_string(value.charged.seq)},
                 {"last_charge", value.charged.hash},
                 {"belongs_to", value.belongs_to}};
    if (value.evaluating) out.texts["evaluating"] = std::to_string(value.evaluating->step);
    write_sealed(path, checkpoint_kind, std::move(out), seal);
}

checkpoint read_checkpoint(const std::filesystem::path& path, const privacy::file_seal& seal) {
    const auto read = read_sealed(path, checkpoint_kind, seal);
    const checkpoint_reader from{path, read};
    checkpoint out;
    out.training.optimizer = from.optimizer();
    out.charged.seq = from.number<std::uint64_t>("charges");
    out.charged.hash = from.text("last_charge");
    out.training.rest = from.text("training");
    out.training.method.numbers = from.text("method");
    out.training.trace = from.tensor_if_any("trace");
    out.training.average = from.tensor_if_any("average");
    out.training.before = from.tensor_if_any("before");
    out.training.watched = from.tensor_if_any("watched");
    for (const auto& [name, tensor] : read.tensors)
        if (name.starts_with(method_prefix))
            out.training.method.tensors.emplace_back(name.substr(method_prefix.size()), tensor);
    const auto controller = from.tensor("controller");
    out.controller.assign(static_cast<const char*>(controller.data_ptr()),
                          static_cast<std::size_t>(controller.numel()));
    out.belongs_to = from.text("belongs_to");
    if (const auto adapter = from.tensor_if_any("evaluating"); adapter.defined())
        out.evaluating = {from.number<std::int64_t>("evaluating"), adapter};
    return out;
}

}  // namespace rldp::actors
