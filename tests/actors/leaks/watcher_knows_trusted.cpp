// Must not build: a source of monitor/, all of which is compiled with this definition, that includes what names a
// trusted type.
#define RLDP_KNOWS_NO_TRUSTED_TYPE
#include "monitor/http/router.hpp"
#include "privacy/trusted.hpp"
