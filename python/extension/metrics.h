// Metrics that are written in Python.
#ifndef BANYAN_PYTHON_EXTENSION_METRICS_H_
#define BANYAN_PYTHON_EXTENSION_METRICS_H_

#include <nanobind/nanobind.h>

namespace banyan {

// Defines `add_metric`, which gives the catalogue a row that calls a function
// of Python.
void DefineMetrics(nanobind::module_& module);

}  // namespace banyan

#endif  // BANYAN_PYTHON_EXTENSION_METRICS_H_
