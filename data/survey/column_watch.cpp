#include "data/survey/column_watch.hpp"

#include <algorithm>
#include <functional>

namespace rldp::data {

void column_watch::see(std::string_view value) {
    if (std::find(values_for_none.begin(), values_for_none.end(), value) != values_for_none.end()) {
        ++missing_;
        return;
    }
    ++present_;
    if (seen_.size() < most_distinct) seen_.insert(std::hash<std::string_view>{}(value));
}

}  // namespace rldp::data
