#pragma once
// (μ/μ_w, λ)-CMA-ES with cumulative step-size adaptation, as in Hansen, "The CMA Evolution Strategy: A Tutorial"
// (arXiv 1604.00772), its default parameters and positive weights. Minimises. The same seed and values give the same
// bits; a population may be evaluated anywhere, in any order.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rldp::rl {

class cma_es {
  public:
    using point = std::vector<double>;

    /// `population` λ: 0 for 4 + ⌊3·log n⌋.
    cma_es(point start, double deviation, std::uint64_t seed, std::size_t population = 0);

    /// The points of this generation, [λ][n]: the same until tell().
    std::vector<point> ask() const;
    /// Their values, in their order; an infinite or NaN one ranks last.
    void tell(std::span<const double> values);

    const point& mean() const { return mean_; }
    double deviation() const { return deviation_; }  ///< σ
    std::size_t generation() const { return generation_; }
    std::size_t population() const { return population_; }
    const point& best() const { return best_; }  ///< of all that was told
    double best_value() const { return best_value_; }

    /// JSON that load() goes on from bit for bit. Errors: bad_input naming `origin` where it is damaged.
    std::string save() const;
    static cma_es load(const std::string& text, const std::string& origin);

  private:
    std::vector<point> steps() const;  ///< (x − mean)/σ, [λ][n]
    void decompose();

    point mean_;
    double deviation_;
    std::uint64_t seed_;
    std::size_t population_, generation_ = 0;
    point weights_;                      ///< [μ], sum 1
    double mass_ = 0;                    ///< μ_eff
    point covariance_;                   ///< C, [n·n]
    point axes_, lengths_;               ///< B [n·n] with an eigenvector per column, and D
    point covariance_path_, step_path_;  ///< p_c, p_σ
    point best_;
    double best_value_;
};

}  // namespace rldp::rl
