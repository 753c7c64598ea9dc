#include "tests/faults/classes.hpp"

#include <algorithm>
#include <stdexcept>

namespace rldp::testing {

const std::vector<fault_class>& fault_classes() {
    static const std::vector<fault_class> all{
        {"kill, any time", 10, killed_at_a_time},
        {"kill, named point", 11, killed_at_a_point},
        {"kill, at the end", 4, killed_at_the_end},
        {"failing call", 16, failing_call},
        {"power cut", 20, power_cut},
        {"bit flip", 14, flipped_bit},
        {"full disk", 5, full_disk},
        {"limits", 4, limited},
        {"memory of a group", 2, short_of_memory},
        {"clock jumps", 2, unsteady_clock},
        {"streams", 5, deaf_streams},
        {"two processes", 2, two_processes},
        {"stopped", 2, stopped_for_a_while},
        {"compare killed", 2, grid_killed},
        {"audit beside", 1, audit_beside},
    };
    return all;
}

const fault_class& find_class(std::uint64_t number) {
    constexpr std::uint64_t wheel = 100, stride = 37;  // without a common divisor: neighbours are of different classes
    auto place = static_cast<int>(number * stride % wheel);
    for (const auto& one : fault_classes())
        if ((place -= one.weight) < 0) return one;
    throw std::logic_error("the weights of the classes amount to less than a hundred");
}

scene trial::seeded_stage() {
    std::vector<const reference*> seeded;
    for (const auto& whole : on.references)
        if (whole.how.seeded) seeded.push_back(&whole);
    return {on, *one_of(seeded, random), root};
}

named_point trial::point_of_the_end(const std::vector<event>& journal) {
    const auto begin = std::find_if(journal.begin(), journal.end(), [](const event& what) {
        return what.where.find("public/summary.json") != std::string::npos;
    });
    const auto first = static_cast<std::size_t>(begin - journal.begin());
    return point_at(journal, first + below(random, journal.size() - first));
}

microseconds trial::moment(const reference& whole) {
    return microseconds(below(random, static_cast<std::uint64_t>(whole.time.count())));
}

}  // namespace rldp::testing
