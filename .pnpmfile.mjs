/**
 * Of @scalar/api-reference only the browser bundle is served, which holds all that it needs. Its 27 dependencies
 * would bring 240 MB that nothing ever loads.
 */
export const hooks = {
  readPackage: (manifest) => (manifest.name === '@scalar/api-reference' ? { ...manifest, dependencies: {} } : manifest),
};
