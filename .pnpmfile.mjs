/** The compiler checks what uses them, and they themselves never load it: it is not needed where they run. */
const withoutCompiler = ({ peerDependencies: { typescript: _, ...peerDependencies }, ...manifest }) => ({
  ...manifest,
  peerDependencies,
});

/** Dependencies whose own list of dependencies does not fit here. */
const CORRECTIONS = {
  /** Uses the compiler's JavaScript API, which TypeScript 7 no longer has. A peer dependency would be our compiler. */
  'openapi-typescript': ({ peerDependencies: _, ...manifest }) => ({
    ...manifest,
    dependencies: { ...manifest.dependencies, typescript: '5.9.3' },
  }),
  /** Bundles declarations that the compiler has written, and so needs none itself. */
  'rolldown-plugin-dts': withoutCompiler,
  '@trpc/server': withoutCompiler,
  '@trpc/client': withoutCompiler,
};

export const hooks = {
  readPackage: (manifest) => CORRECTIONS[manifest.name]?.(manifest) ?? manifest,
};
