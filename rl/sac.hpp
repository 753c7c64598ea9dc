#pragma once
// Soft Actor-Critic (Haarnoja et al. 2018) with a fixed temperature, twin critics with targets, Huber loss and a state
// encoder that the critics train. One thread, own generator: the same seed and calls give the same bits.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rldp::rl {

struct sac_config {
    std::int64_t state_size = 0, action_size = 0;
    std::int64_t batch = 0, updates = 0, replay = 0;
    double gamma = 0, alpha = 0, tau = 0, actor_lr = 0, critic_lr = 0;
    std::int64_t hidden = 128;
    std::int64_t seed = 0;
};

struct transition {
    std::vector<double> state, action;
    double reward;
    std::vector<double> next_state;
};

class sac {
  public:
    explicit sac(const sac_config& config);
    ~sac();
    sac(sac&&) noexcept;

    /// Samples an action from the current (unsquashed) Gaussian policy; log σ is clamped to [-20, 2].
    std::vector<double> act(std::span<const double> state);
    void remember(const transition& value);  ///< FIFO, in float32
    /// `updates` rounds of {critics, actor, targets}; none while the replay holds fewer than `batch` transitions.
    void learn();
    std::int64_t remembered() const;
    std::int64_t rounds() const;  ///< update rounds made so far

    /// Everything that acts: nets, optimisers, targets, replay, generator. Bytes; load() restores bit for bit.
    std::string save() const;
    void load(const std::string& bytes);

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace rldp::rl
