/**
 * The modules of lodash 4.17.21 that cannot be migrated faithfully, each with its reason. A test migrates all 629 and
 * finds exactly these, by the words the transform or the check gives.
 *
 * Thirteen fail for one cause. A CommonJS module is sloppy: a write to a frozen object, or to a string or number, is passed over in
 * silence. An ES module is strict: the same write throws. Each of these modules writes into what it is
 * given, so a caller with a frozen object would meet an error where there was none. Callers that never do
 * so may decide to migrate these by hand; a machine may not decide it for them.
 */
export interface KnownFailure {
  readonly reason: string
  /** Words of the refusal or of the failed check. */
  readonly shows: string
}

const strict = (reason: string, shows: string): KnownFailure => ({ reason: `strict mode: ${reason}`, shows })

export const knownFailures: ReadonlyMap<string, KnownFailure> = new Map([
  ['index.js', { reason: 'hands on the bundle lodash.js, which is not migrated', shows: 'would stay a wrapper' }],
  ['fp.js', { reason: 'converts the bundle lodash.min.js with code of the fp folder; neither is migrated', shows: 'would stay a wrapper' }],
  ['_arrayPush.js', strict('appends to the array it is given', 'Cannot create property')],
  ['_baseAssignValue.js', strict('assigns to the object it is given; every assigning function of lodash ends here', 'Cannot create property')],
  ['_baseFill.js', strict('fills the array it is given', 'Cannot assign to read only property')],
  ['_baseUnset.js', strict('deletes from the object it is given and answers false where that is not allowed', 'Cannot delete property')],
  ['_copyArray.js', strict('copies into the array it is given', 'Cannot create property')],
  ['_createRecurry.js', strict('sets a placeholder on whatever the given wrapper function returns', 'Cannot create property')],
  ['_insertWrapDetails.js', strict('joins the details inside the list it is given', 'Cannot assign to read only property')],
  ['_mergeData.js', strict('merges into the metadata it is given', 'Cannot create property')],
  ['_reorder.js', strict('reorders the array it is given in place', 'Cannot assign to read only property')],
  ['_replaceHolders.js', strict('replaces placeholders inside the array it is given', 'Cannot assign to read only property')],
  ['_shuffleSelf.js', strict('shuffles the array it is given in place', 'Cannot create property')],
  ['defaults.js', strict('assigns to the object it is given without going through _baseAssignValue', 'object is not extensible')],
  ['mixin.js', strict('sets functions on the object it is given', 'object is not extensible')],
])
