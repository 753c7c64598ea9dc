#include "run/shared_base.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "models/architecture/family.hpp"
#include "privacy/keys/digest.hpp"

namespace rldp::actors {

layer_cache::layer_cache(std::vector<bool> own, bring fetch) : own_(std::move(own)), fetch_(std::move(fetch)) {
    thread_ = std::thread([this] { work(); });
}

layer_cache::~layer_cache() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    wanted_.notify_all();
    thread_.join();
}

std::shared_ptr<void> layer_cache::begin_pass() {
    const std::lock_guard lock(mutex_);
    ++passes_;
    return {nullptr, [this](void*) {
                const std::lock_guard ending(mutex_);
                --passes_;
                make_room(0);
            }};
}

/// Of those that are not held here.
std::optional<std::int64_t> layer_cache::find_next(std::int64_t layer, models::heading to) const {
    const auto count = std::ssize(own_), step = to == models::heading::down ? std::int64_t{-1} : std::int64_t{1};
    auto at = layer + step;
    for (std::int64_t looked = 1; looked < count; ++looked, at += step) {
        if (at == count && to == models::heading::around) at = 0;
        if (at < 0 || at == count) return std::nullopt;
        if (!own_[static_cast<std::size_t>(at)]) return at;
    }
    return std::nullopt;
}

/// Those on their way are waited for, and so stay.
void layer_cache::make_room(std::size_t least) {
    const auto most = 2 * std::max<std::size_t>(1, passes_);
    while (here_.size() + least > most) {
        auto oldest = here_.end();
        for (auto each = here_.begin(); each != here_.end(); ++each)
            if (!each->second.matrices.empty() && (oldest == here_.end() || each->second.used < oldest->second.used))
                oldest = each;
        if (oldest == here_.end()) return;
        here_.erase(oldest);
    }
}

void layer_cache::want(std::int64_t layer) {
    const auto found = here_.find(layer);
    if (found != here_.end()) {
        found->second.used = ++uses_;
        return;
    }
    make_room(1);
    here_[layer].used = ++uses_;
    queue_.push_back(layer);
    wanted_.notify_one();
}

void layer_cache::come_to(std::int64_t layer, models::heading to) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;  // find() says so
    if (!own_[static_cast<std::size_t>(layer)]) want(layer);
    if (const auto next = find_next(layer, to)) want(*next);
}

models::weight_matrix layer_cache::find(std::int64_t layer, const std::string& name) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] {
        if (failed_) return true;
        want(layer);
        return !here_.at(layer).matrices.empty();
    };
    if (!ready()) {
        const auto began = std::chrono::steady_clock::now();
        arrived_.wait(lock, ready);
        tally_.waited += std::chrono::steady_clock::now() - began;
    }
    if (failed_) std::rethrow_exception(failed_);
    return here_.at(layer).matrices.at(name);
}

layer_cache::tally layer_cache::counted() const {
    const std::lock_guard lock(mutex_);
    return tally_;
}

void layer_cache::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wanted_.wait(lock, [this] { return over_ || !queue_.empty(); });
        if (over_) return;
        const auto layer = queue_.front();
        queue_.pop_front();
        lock.unlock();
        std::map<std::string, models::weight_matrix> made;
        std::exception_ptr wrong;
        try {
            made = fetch_(layer);
        } catch (...) {
            wrong = std::current_exception();
        }
        lock.lock();
        here_.at(layer).matrices = std::move(made);
        ++tally_.layers;
        if (wrong) failed_ = wrong;
        arrived_.notify_all();
        if (wrong) return;
    }
}

namespace {

using models::block_type;
using models::weight_matrix;

matrix_form describe(const weight_matrix& held) {
    const auto& blocks = held.blocks();
    if (!blocks) return {std::nullopt, held.rows(), held.columns(), 0};
    return {blocks->type, blocks->rows, blocks->columns, blocks->scales ? std::ssize(blocks->scales->absmax) : 0};
}

template <class Byte, class T>
std::span<Byte> view_bytes(T* first, std::size_t count) {
    return {reinterpret_cast<Byte*>(first), count * sizeof(T)};
}

/// A matrix as it is lent, in parts.
void add_parts(const weight_matrix& held, std::vector<std::span<const char>>& parts, std::vector<at::Tensor>& kept) {
    if (const auto& blocks = held.blocks()) {
        parts.push_back(view_bytes<const char>(blocks->bytes.data(), blocks->bytes.size()));
        if (!blocks->scales) return;
        const auto& scales = *blocks->scales;
        parts.push_back(view_bytes<const char>(scales.map.data(), scales.map.size()));
        parts.push_back(view_bytes<const char>(scales.absmax.data(), scales.absmax.size()));
        parts.push_back(view_bytes<const char>(&scales.offset, 1));
        return;
    }
    kept.push_back(held.numbers().cpu().contiguous());
    parts.push_back(view_bytes<const char>(static_cast<const char*>(kept.back().data_ptr()), kept.back().nbytes()));
}

ranks::lending::loan make_loan(const std::map<std::string, weight_matrix>& layer) {
    ranks::lending::loan out;
    auto kept = std::make_shared<std::vector<at::Tensor>>();
    for (const auto& [name, held] : layer) add_parts(held, out.parts, *kept);
    out.owner = std::move(kept);
    return out;
}

/// Bytes of a matrix's numbers or blocks.
std::size_t count_bytes(const matrix_form& form, at::ScalarType dtype) {
    return static_cast<std::size_t>(form.blocks
                                        ? form.rows * models::count_row_bytes(*form.blocks, form.columns)
                                        : form.rows * form.columns * static_cast<std::int64_t>(at::elementSize(dtype)));
}

/// Memory of a borrowed layer: a mapping of its own, which the system has back as soon as the layer is dropped. The
/// heap would keep some of it, in gaps between what a pass holds.
class layer_room {
  public:
    explicit layer_room(std::size_t bytes) : size_(std::max<std::size_t>(1, bytes)) {
        auto* const made = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED) throw std::bad_alloc();
        owner_ = {static_cast<std::uint8_t*>(made), [size = size_](std::uint8_t* first) { munmap(first, size); }};
    }

    static std::size_t with_gap(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

    std::span<std::uint8_t> take(std::size_t bytes) {
        require(used_ + bytes <= size_, "a layer is larger than its matrices");
        const std::span out(owner_.get() + used_, bytes);
        used_ += with_gap(bytes);
        return out;
    }

    std::shared_ptr<std::uint8_t> owner() const { return owner_; }

  private:
    std::size_t size_, used_ = 0;
    std::shared_ptr<std::uint8_t> owner_;
};

/// A matrix that is to come, and the places of its parts.
class coming_matrix {
  public:
    coming_matrix(const matrix_form& form, at::ScalarType dtype, layer_room& room, std::vector<std::span<char>>& parts)
        : form_(form), dtype_(dtype), owner_(room.owner()), bytes_(room.take(count_bytes(form, dtype))) {
        parts.push_back(view_bytes<char>(bytes_.data(), bytes_.size()));
        if (form.scales == 0) return;
        scales_ = std::make_shared<models::nested_scales>();
        scales_->absmax.resize(static_cast<std::size_t>(form.scales));
        parts.push_back(view_bytes<char>(scales_->map.data(), scales_->map.size()));
        parts.push_back(view_bytes<char>(scales_->absmax.data(), scales_->absmax.size()));
        parts.push_back(view_bytes<char>(&scales_->offset, 1));
    }

    weight_matrix finish(at::Device device) && {
        if (!form_.blocks)
            return weight_matrix(at::from_blob(
                                     bytes_.data(), {form_.rows, form_.columns}, [owner = owner_](void*) {}, dtype_)
                                     .to(device));
        return {models::make_quantized(*form_.blocks, form_.rows, form_.columns, std::move(owner_), bytes_,
                                       std::move(scales_)),
                dtype_};
    }

  private:
    matrix_form form_;
    at::ScalarType dtype_;
    std::shared_ptr<std::uint8_t> owner_;
    std::span<std::uint8_t> bytes_;
    std::shared_ptr<models::nested_scales> scales_;
};

std::map<std::string, weight_matrix> borrow_layer(ranks::lending& from, std::int64_t layer, std::size_t owner,
                                                  const layer_forms& forms, at::ScalarType dtype, at::Device device) {
    std::size_t bytes = 0;
    for (const auto& [name, form] : forms) bytes += layer_room::with_gap(count_bytes(form, dtype));
    layer_room room(bytes);
    std::vector<std::span<char>> parts;
    std::map<std::string, coming_matrix> coming;
    for (const auto& [name, form] : forms) coming.try_emplace(name, form, dtype, room, parts);
    from.borrow(owner, static_cast<std::uint64_t>(layer), parts);
    std::map<std::string, weight_matrix> out;
    for (auto& [name, matrix] : coming) out.emplace(name, std::move(matrix).finish(device));
    return out;
}

/// What each rank says of the matrices that it has read.
nlohmann::json describe_own(const models::loaded_weights& read, const std::vector<std::string>& names) {
    nlohmann::json out = nlohmann::json::object();
    for (const auto& name : names) {
        const auto form = describe(read.weights.find_matrix(name));
        const auto& facts = read.facts.at(name);
        out[name] = {{"blocks", form.blocks ? std::string(name_of(*form.blocks)) : std::string()},
                     {"rows", form.rows},
                     {"columns", form.columns},
                     {"scales", form.scales},
                     {"form", facts.form},
                     {"digest", facts.digest}};
    }
    return out;
}

matrix_form parse_form(const nlohmann::json& told) {
    const auto type = told.at("blocks").get<std::string>();
    const auto number = [&](const char* key) { return told.at(key).get<std::int64_t>(); };
    return {type.empty() ? std::nullopt : std::optional(parse_named<block_type>(type)), number("rows"),
            number("columns"), number("scales")};
}

/// What all must have the same of, layer by layer: each has looked at a few bytes of those that are not its own.
std::vector<std::pair<std::string, std::string>> common_facts_of_base(
    const models::model_config& config, const models::loaded_weights& read,
    const std::vector<std::vector<std::string>>& layers) {
    std::string beside;
    const auto modules = models::list_module_weights(config);
    for (const auto& [name, facts] : read.facts)
        if (!modules.contains(name)) beside += name + " " + facts.form + " " + facts.digest + "\n";
    std::vector<std::pair<std::string, std::string>> out{
        {"embedding, norm or head of the model", privacy::sha256(beside)}};
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        std::string seen;
        for (const auto& name : layers[layer]) seen += read.glimpses.at(name);
        out.emplace_back(fmt::format("layer {} of the model", layer), privacy::sha256(seen));
    }
    return out;
}

}  // namespace

models::loaded_weights load_shared(const std::filesystem::path& path, const models::model_config& config,
                                   at::ScalarType dtype, at::Device device, models::weights_reading how,
                                   ranks::team& team) {
    const auto ranks = team.ranks(), rank = team.rank();
    refuse_unless(static_cast<std::int64_t>(ranks) <= config.layers,
                  fmt::format("model.shard: {} ranks share the {} layers of {}, and {} of them would have none; start "
                              "{} ranks at most",
                              ranks, config.layers, path.string(), static_cast<std::int64_t>(ranks) - config.layers,
                              config.layers));
    std::vector<std::vector<std::string>> layers;
    std::vector<bool> own;
    std::vector<std::string> own_names;
    std::map<std::string, bool> is_own;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
        layers.push_back(models::list_matrices(config, layer));
        own.push_back(find_owner(layer, ranks) == rank);
        for (const auto& name : layers.back()) is_own[name] = own.back();
        if (own.back()) own_names.insert(own_names.end(), layers.back().begin(), layers.back().end());
    }
    how.digest = true;
    how.known_good = false;
    how.wanted = [&](const std::string& name) {
        const auto found = is_own.find(name);
        return found == is_own.end() || found->second;
    };
    auto read = models::load_weights(path, config, dtype, device, how);
    team.agree(common_facts_of_base(config, read, layers));

    auto forms = std::make_shared<std::vector<layer_forms>>(layers.size());
    std::vector<nlohmann::json> told;
    for (const auto& text : team.exchange(describe_own(read, own_names).dump()))
        told.push_back(nlohmann::json::parse(text));
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
        for (const auto& name : layers[layer]) {
            const auto& its = told[find_owner(static_cast<std::int64_t>(layer), ranks)].at(name);
            (*forms)[layer].emplace(name, parse_form(its));
            read.facts[name] = {its.at("form").get<std::string>(), its.at("digest").get<std::string>()};
        }
    read.digest = models::combine_facts(config, read.facts);

    std::map<std::uint64_t, std::map<std::string, weight_matrix>> lent;
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
        if (own[layer])
            for (const auto& name : layers[layer]) lent[layer].emplace(name, read.weights.find_matrix(name));
    const auto lending =
        team.lend([lent = std::move(lent)](std::uint64_t number) { return make_loan(lent.at(number)); });
    read.weights.elsewhere = std::make_shared<layer_cache>(std::move(own), [=](std::int64_t layer) {
        const auto owner = find_owner(layer, ranks);
        return borrow_layer(*lending, layer, owner, forms->at(static_cast<std::size_t>(layer)), dtype, device);
    });
    return read;
}

models::loaded_weights load_in_passing(const std::filesystem::path& path, const models::model_config& config,
                                       at::ScalarType dtype, at::Device device, models::weights_reading how) {
    const auto matrices = models::list_module_weights(config);
    how.digest = false;
    how.wanted = [&](const std::string& name) { return !matrices.contains(name); };
    auto out = models::load_weights(path, config, dtype, device, how);
    how.wanted = {};
    how.tell = {};
    std::vector<bool> own(static_cast<std::size_t>(config.layers), false);
    out.weights.elsewhere = std::make_shared<layer_cache>(std::move(own), [=](std::int64_t layer) {
        const auto names = models::list_matrices(config, layer);
        auto reading = how;
        reading.wanted = [&](const std::string& name) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        const auto read = models::load_weights(path, config, dtype, device, reading);
        std::map<std::string, models::weight_matrix> matrices_of_layer;
        for (const auto& name : names) matrices_of_layer.emplace(name, read.weights.find_matrix(name));
        return matrices_of_layer;
    });
    return out;
}

}  // namespace rldp::actors
