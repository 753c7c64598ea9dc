#pragma once
// The privacy loss of one subsampled Gaussian step on a mesh of losses, and how fine the mesh has to be.
#include <cstdint>
#include <span>
#include <vector>

#include "privacy/accounting/rdp.hpp"

namespace rldp::privacy {

// Sensitivity. How much the discretisation of one step's loss adds to the ε of a composition.
//
// Let f be the density of the composed loss and δ(ε) = E[(1 − e^{ε−L})+]. Splitting the mass of a cell [a, b] at loss l
// between its ends, with both P and Q mass kept (connect the dots), changes E[g(L)] by E[(l−a)(b−l)·(g'' + g')/2] to
// second order. For g = (1 − e^{ε−L})+ that is the kink at ε alone: g'' + g' is a point mass there. So a step's loss l
// adds (l−a)(b−l)·f'(ε − l)/2 to δ, f' the density of all other steps, and (l−a)(b−l)·ρ(l)/2 to ε with ρ(l) = f'(ε −
// l)/|δ'(ε)|. f' is taken for f moved by one mean loss m, f'(x) = f(x + m). Losses that overshoot ε may have cells of
// any width. All this decides about precision only; the bound holds for every mesh.

class sensitivity {
  public:
    /// Before anything is composed: f decays like e^{-λl}, so ρ(l) = (λ + 1)·e^{λl}/E[e^{λL}].
    explicit sensitivity(double lambda) : lambda_(lambda) {}
    /// From a first composition: masses of the losses lowest + k·width, not normalised; slope |δ'(ε)| in the same unit.
    /// It knows nothing of losses below its window, so a quarter of the other ρ is added.
    sensitivity(double lambda, const std::vector<double>& mass, double lowest, double width, double epsilon,
                double slope);

    double lambda() const { return lambda_; }
    double tilted_share() const { return above_.empty() ? 1 : 0.25; }
    /// The composition's part of ρ(l), for a step of mean loss m, averaged over losses from 0.7·l to 1.3·l; 0 if there
    /// is none.
    double composed(double loss, double mean) const;

  private:
    double lambda_;
    std::vector<double> above_;  ///< Σ mass of this and all higher losses
    double lowest_ = 0, width_ = 0, epsilon_ = 0, slope_ = 1;
};

// Mesh. Which losses a discretisation uses.

/// Steps with less noise are priced as if a drawn unit were seen in the clear, which dominates any noise.
inline constexpr double least_resolved_multiplier = 0.05;

struct mesh {
    direction side;
    sensitivity weight;
    double width;       ///< h: losses are an offset plus a multiple of h
    double cell_error;  ///< what a cell wider than h may add to ε
    double tail;        ///< upper tail probability of a normal beyond which a step's losses are cut off

    /// The mesh that puts the bound on ε about `tolerance` above the exact value.
    static mesh choose(direction side, sensitivity weight, std::span<const phase> phases, double tolerance,
                       double tail);
};

/// ρ(l)·p(y) of one step: sensitivity times the density of its standardised outcome y under P.
class outcome_weight {
  public:
    outcome_weight(direction side, const sensitivity& weight, const phase& step);
    double operator()(double y, double loss) const;

  private:
    double log_density(double y, double loss) const;
    bool remove_;
    const sensitivity& weight_;
    double log_tilt_, mean_ = 0;  ///< log of what normalises the tilted part; mean loss
};

// Atoms. The privacy loss of one subsampled Gaussian step on a mesh.

/// A distribution of losses on offset + index·h that dominates one step's, with a mass at +∞.
struct loss_atoms {
    double offset;
    std::vector<std::int64_t> index;
    std::vector<double> mass;
    double infinite;
};
loss_atoms discretise(const phase& step, const mesh& on);

}  // namespace rldp::privacy
