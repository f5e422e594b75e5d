import { type Tool, VERSIONS } from './tool.ts';

const OPENAPI_FETCH: Tool = {
  name: 'openapi-typescript + openapi-fetch',
  kind: 'generator',
  packages: {
    'openapi-typescript': '7.13.0',
    'openapi-fetch': '0.17.0',
    typescript: '5.9.3',
    '@types/node': '24.19.2',
  },
  program: 'openapi-fetch.ts',
  example: { file: 'shop.ts', prints: /^2 orders, \d+ requests a minute\n(order \d+ is cancelled\n){2}$/ },
  generate: (urls) => VERSIONS.map((version) => ['openapi-typescript', urls[version], '--output', `${version}.ts`]),
  options: 'For v1 `fetch: exactFetch`',
};

const HEY_API: Tool = {
  name: '@hey-api/openapi-ts',
  kind: 'generator',
  // With the TypeScript 7 that npm would take it ends at once.
  packages: { '@hey-api/openapi-ts': '0.99.0', typescript: '6.0.3' },
  program: 'hey-api.ts',
  generate: (urls) => VERSIONS.map((version) => ['openapi-ts', '--input', urls[version], '--output', version]),
  options: 'For v1 `fetch: exactFetch`. To be installed with `typescript@6`: with 7 it does not start',
};

const ORVAL_CONFIG = `const project = (version, target, fetch = {}) => ({
  input: version + '.json',
  output: { target, client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true }, override: { fetch } },
});
export default {
  v1: project('v1', 'v1.ts'),
  v1Exact: project('v1', 'v1-exact.ts', { jsonReviver: { path: './exact-fetch.ts', name: 'idsAsStrings' } }),
  v2: project('v2', 'v2.ts'),
};
`;

const ORVAL: Tool = {
  name: 'orval',
  kind: 'generator',
  packages: { orval: '8.38.0' },
  program: 'orval.ts',
  files: { 'orval.config.mjs': ORVAL_CONFIG },
  generate: () => [['orval', '--config', 'orval.config.mjs']],
  options: '`baseUrl: { getBaseUrlFromSpecification: true }`; for v1 `idsAsStrings` as `override.fetch.jsonReviver`',
};

const SWAGGER_TYPESCRIPT_API: Tool = {
  name: 'swagger-typescript-api',
  kind: 'generator',
  packages: { 'swagger-typescript-api': '13.13.0' },
  program: 'swagger-typescript-api.ts',
  generate: (urls) =>
    VERSIONS.map((version) => {
      const output = ['--output', '.', '--name', `${version}.ts`];
      return ['swagger-typescript-api', 'generate', '--path', urls[version], ...output];
    }),
  options:
    "For v1 `customFetch: exactFetch`. `{ format: 'json' }` at `cancelOrder`, or the body of its errors is not read; what it throws is typed after a cast",
};

const SWAGGER_CLIENT: Tool = {
  name: 'swagger-client',
  kind: 'client',
  packages: { 'swagger-client': '3.39.0' },
  program: 'swagger-client.ts',
  options: 'For v1 `request.userFetch = exactFetch` in `requestInterceptor`',
};

const OPENAPI_CLIENT_AXIOS: Tool = {
  name: 'openapi-client-axios',
  kind: 'client',
  packages: { 'openapi-client-axios': '7.9.1', axios: '1.21.1' },
  program: 'openapi-client-axios.ts',
  options: "For v1 `axiosConfigDefaults: { adapter: 'fetch', env: { fetch: exactFetch } }`",
};

const NEWMAN: Tool = {
  name: 'openapi-to-postmanv2 + newman',
  kind: 'converter',
  packages: { 'openapi-to-postmanv2': '6.3.3', newman: '6.2.2' },
  program: 'newman.ts',
  options:
    '`parametersResolution=Example`, or ids in paths of v1 are `<long>`. For v1 scripts read `pm.response.text()`, not `pm.response.json()`',
};

const createPrism = (name: string, options: string, ...flags: readonly string[]): Tool => ({
  name,
  kind: 'proxy',
  packages: { '@stoplight/prism-cli': '5.16.0' },
  program: 'prism.ts',
  proxy: ({ documentUrl, baseUrl, port }) => {
    const listen = ['--host', '127.0.0.1', '--port', String(port)];
    return ['prism', 'proxy', documentUrl, baseUrl, ...flags, ...listen];
  },
  options,
});

const PRISM = createPrism(
  '@stoplight/prism-cli (proxy)',
  'None; what breaks the document is in the header `sl-violations`. It rounds ids of v1 for its callers',
);
const PRISM_ERRORS = createPrism(
  '@stoplight/prism-cli (proxy, `--errors`)',
  '`--errors`: what breaks the document is refused, as are ids of v1 beyond 2^53',
  '--errors',
);

const REDOCLY: Tool = {
  name: '@redocly/cli',
  kind: 'validator',
  packages: { '@redocly/cli': '2.77.0' },
  files: { 'redocly.yaml': 'extends:\n  - recommended-strict\ntelemetry: off\n' },
  judge: (url) => ['redocly', 'lint', url],
  options: '`extends: [recommended-strict]`',
};

const SPECTRAL: Tool = {
  name: '@stoplight/spectral-cli',
  kind: 'validator',
  packages: { '@stoplight/spectral-cli': '6.16.3' },
  files: { '.spectral.json': '{"extends":["spectral:oas"]}' },
  judge: (url) => ['spectral', 'lint', url, '--ruleset', '.spectral.json', '--fail-severity', 'hint'],
  options: '`extends: [spectral:oas]`, `--fail-severity hint`',
};

/** In the order of the tables. */
export const TOOLS: readonly Tool[] = [
  OPENAPI_FETCH,
  HEY_API,
  ORVAL,
  SWAGGER_TYPESCRIPT_API,
  SWAGGER_CLIENT,
  OPENAPI_CLIENT_AXIOS,
  NEWMAN,
  PRISM,
  PRISM_ERRORS,
  REDOCLY,
  SPECTRAL,
];
