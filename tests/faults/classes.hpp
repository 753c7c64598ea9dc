#pragma once
// The classes of faults, and which of them a case is of.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/faults/scene.hpp"

namespace rldp::testing {

/// A case: all that it does follows from `random`, but for the moments of real time.
struct trial {
    const ground& on;
    path root;
    generator random;

    scene stage() { return {on, one_of(on.references, random), root}; }
    scene seeded_stage();  ///< of a variant whose uninterrupted run is always the same
    /// One of the calls from the summary on: all steps are made, and what follows is the run's end.
    named_point point_of_the_end(const std::vector<event>& journal);
    /// Within an undisturbed run's time.
    microseconds moment(const reference& whole);
};

struct fault_class {
    std::string name;
    int weight;  ///< cases in a hundred
    verdict (*play)(trial&);
};
const std::vector<fault_class>& fault_classes();

/// The class of a case by its number: each hundred cases in a row have as many of every class as its weight says.
const fault_class& find_class(std::uint64_t number);

verdict killed_at_a_time(trial& t);
verdict killed_at_a_point(trial& t);
verdict killed_at_the_end(trial& t);
verdict failing_call(trial& t);
verdict stopped_for_a_while(trial& t);
verdict power_cut(trial& t);
verdict flipped_bit(trial& t);
verdict full_disk(trial& t);
verdict limited(trial& t);
verdict short_of_memory(trial& t);
verdict unsteady_clock(trial& t);
verdict deaf_streams(trial& t);
verdict two_processes(trial& t);
verdict grid_killed(trial& t);
verdict audit_beside(trial& t);

}  // namespace rldp::testing
