#pragma once
// A base whose layers are spread over the ranks of a run (model.shard): each holds its own, and borrows the others' one
// ahead of their use (docs/cluster.md).
#include <ATen/core/Tensor.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "models/weights.hpp"
#include "run/ranks/team.hpp"

namespace rldp::actors {

/// Who holds a layer.
inline std::size_t find_owner(std::int64_t layer, std::size_t ranks) {
    return static_cast<std::size_t>(layer) % ranks;
}

/// What a rank tells the others of a matrix that it holds.
struct matrix_form {
    std::optional<models::block_type> blocks;  ///< nothing for numbers
    std::int64_t rows = 0, columns = 0;        ///< as it is held: a Conv1D's of numbers is [in, out]
    std::int64_t scales = 0;                   ///< of blocks of nf4, their absmax
};
using layer_forms = std::map<std::string, matrix_form>;

/// Brings layers, and keeps two for each pass that is under way.
class layer_cache final : public models::layer_source {
  public:
    /// Reads all of a layer that this rank does not hold. Errors: whatever it throws is thrown by find() ever after.
    using bring = std::function<std::map<std::string, models::weight_matrix>(std::int64_t layer)>;

    /// `own`: by layer, whether it is held here.
    layer_cache(std::vector<bool> own, bring fetch);
    ~layer_cache() override;
    layer_cache(const layer_cache&) = delete;
    layer_cache& operator=(const layer_cache&) = delete;

    std::shared_ptr<void> begin_pass() override;
    void come_to(std::int64_t layer, models::heading to) override;
    models::weight_matrix find(std::int64_t layer, const std::string& name) override;

    /// So far: layers that were brought, and what computing waited for them.
    struct tally {
        std::int64_t layers = 0;
        std::chrono::duration<double> waited{};
    };
    tally counted() const;

  private:
    struct borrowed {
        std::map<std::string, models::weight_matrix> matrices;  ///< empty while it is on its way
        std::uint64_t used = 0;                                 ///< when it was last
    };

    std::optional<std::int64_t> find_next(std::int64_t layer, models::heading to) const;
    void want(std::int64_t layer);
    void make_room(std::size_t least);
    void work();

    const std::vector<bool> own_;
    const bring fetch_;
    mutable std::mutex mutex_;
    std::condition_variable wanted_, arrived_;
    std::map<std::int64_t, borrowed> here_;
    std::deque<std::int64_t> queue_;
    std::exception_ptr failed_;
    std::uint64_t uses_ = 0;
    std::size_t passes_ = 0;
    bool over_ = false;
    tally tally_;
    std::thread thread_;
};

/// load_weights() on one of several ranks, which all call it: of the layers' matrices its own alone are read and held,
/// and the others are borrowed. The digest is that of the whole. Errors: load_weights'; bad_input, the same on every
/// rank, for more ranks than layers, and naming the layer where the files of two ranks differ.
models::loaded_weights load_shared(const std::filesystem::path& path, const models::model_config& config,
                                   at::ScalarType dtype, at::Device device, models::weights_reading how,
                                   ranks::team& team);

/// load_weights() of a base that is passed through once or twice and is more than this process holds: each layer is
/// read when a pass comes to it. What is wrong with a layer is then said by that pass. No digest.
models::loaded_weights load_in_passing(const std::filesystem::path& path, const models::model_config& config,
                                       at::ScalarType dtype, at::Device device, models::weights_reading how);

}  // namespace rldp::actors
