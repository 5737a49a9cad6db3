/* HDF5, as far as Keras and h5py write it: groups, datasets, attributes that are text.
 *
 * Our own reader and not libhdf5: that is 400,000 lines with a history of memory errors on hostile files, it would be
 * the only dependency of this project, and it would have to run in a process of its own. What model files use fits
 * into two files. What lies outside of that (virtual datasets, packed heaps) is a finding, not a guess. */
#ifndef PEL_IO_HDF5_H
#define PEL_IO_HDF5_H

#include "base/map.h"
#include "io/finding.h"
#include "io/source.h"

typedef struct pel_h5_attribute {
    pel_str name;
    PEL_VEC(pel_str) texts; /* one, or those of an array */
} pel_h5_attribute;

typedef struct pel_h5_object pel_h5_object;
struct pel_h5_object {
    pel_str name;
    bool is_dataset;
    PEL_VEC(pel_h5_object *) children; /* of a group, sorted by name as HDF5 does */
    pel_map by_name;                   /* interned name -> child */
    PEL_VEC(pel_h5_attribute) attributes;
    /* of a dataset */
    pel_str dtype; /* "float32"; "string", "compound" ... for what is no tensor */
    int64_t *dims;
    uint32_t n_dims;
    bool has_place; /* its elements lie in the file as they are */
    uint64_t offset, size;
};

bool pel_is_hdf5(pel_str bytes);
/* Whether it begins after a block of somebody's own, as libhdf5 allows. */
bool pel_is_hdf5_behind(pel_ctx *ctx, const pel_input *input);
/* The root group with all that it holds. Throws PEL_E_FORMAT and others. */
pel_h5_object *pel_h5_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings);

/* The child of that name, or NULL; group may be NULL. */
const pel_h5_object *pel_h5_child(pel_ctx *ctx, const pel_h5_object *group, pel_str name);
/* The attribute of that name, or NULL. */
const pel_h5_attribute *pel_h5_attribute_of(const pel_h5_object *object, const char *name);

#endif
