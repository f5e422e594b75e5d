// Which package may import which. A request goes one way: HTTP, admission, procedure, repository, which enforces the
// domain's rules. Each rule says why; a violation prints it.

const rooms = (...names) => `^(${names.join('|')})/src/`;
const ALL = '^(apps|packages)/[^/]+/src/';
/** The entry of the client for tests. */
const PACKED_FOR_TESTS = '^packages/client/src/testing[.]ts$';

/** Sources of `from` may import of other rooms only `to`. */
const only = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: rooms(from) },
  to: { path: ALL, pathNot: [rooms(from), ...(to.length ? [rooms(...to)] : [])] },
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'domain-imports-nothing',
      comment:
        'The rules of orders, plans and keys outlive every library: no package, and of Node only pure functions.',
      severity: 'error',
      from: { path: rooms('packages/domain') },
      to: { pathNot: [rooms('packages/domain'), '^(node:)?(crypto|zlib)$'] },
    },
    only(
      'rate-limit-knows-no-shop',
      'packages/rate-limit',
      [],
      "The limiter is of use to anybody: it knows names and numbers, and whose they are is its caller's.",
    ),
    only(
      'persistence-serves-domain',
      'packages/persistence',
      ['packages/domain'],
      'An adapter implements the ports of the domain and does not know its callers.',
    ),
    only(
      'api-is-between',
      'packages/api',
      ['packages/domain', 'packages/rate-limit'],
      'Procedures see ports, never the database or the web server behind them.',
    ),
    {
      ...only(
        'client-is-independent',
        'packages/client',
        ['packages/api'],
        'What callers install must not bring the server along.',
      ),
      from: { path: rooms('packages/client'), pathNot: PACKED_FOR_TESTS },
    },
    {
      name: 'client-packs-the-service-for-tests',
      comment: 'The one exception: the entry for tests is the service itself, so that the two cannot differ.',
      severity: 'error',
      from: { path: PACKED_FOR_TESTS },
      to: { path: ALL, pathNot: '^apps/server/src/testing/test-service(?:-types)?[.]ts$' },
    },
    {
      name: 'service-for-tests-is-loaded-by-tests',
      comment: 'Callers of the other entries load none of it, and the server serves from PostgreSQL.',
      severity: 'error',
      from: { path: ALL, pathNot: [PACKED_FOR_TESTS, '^apps/server/src/testing/'] },
      to: { path: [PACKED_FOR_TESTS, '^apps/server/src/testing/'] },
    },
    only(
      'reference-shows-the-interface',
      'packages/reference',
      ['packages/api'],
      'The pages show the document and the error codes, and nothing behind them.',
    ),
    {
      name: 'client-takes-only-types',
      comment: 'Types of the API vanish when the client is built; a value would pull the server into it.',
      severity: 'error',
      from: { path: rooms('packages/client') },
      to: {
        path: rooms('packages/api'),
        dependencyTypesNot: ['type-only'],
      },
    },
    only(
      'runtime-knows-no-shop',
      'packages/runtime',
      [],
      'Settings and embedded servers are the same for whatever runs on them.',
    ),
    {
      ...only(
        'testing-knows-no-shop',
        'packages/testing',
        ['packages/runtime'],
        'All packages but the domain test with it, so it can depend on none of them: orders for tests know the domain alone.',
      ),
      from: { path: rooms('packages/testing'), pathNot: '/any-order[.]ts$' },
    },
    {
      ...only(
        'orders-for-tests-know-the-domain',
        'packages/testing',
        ['packages/domain'],
        'See testing-knows-no-shop.',
      ),
      from: { path: '^packages/testing/src/any-order[.]ts$' },
    },
    only(
      'cli-stays-offline',
      'apps/cli',
      ['packages/domain', 'packages/rate-limit', 'packages/persistence', 'packages/runtime'],
      'The command line works on the database and Redis, not through the web server.',
    ),
    {
      name: 'testing-only-from-tests',
      comment: 'Test servers have no place in a process that serves.',
      severity: 'error',
      from: { path: ALL, pathNot: rooms('packages/testing') },
      to: { path: rooms('packages/testing') },
    },
    {
      name: 'packages-know-no-app',
      comment: 'Apps are entry points; nothing is built on them.',
      severity: 'error',
      from: { path: '^packages/', pathNot: PACKED_FOR_TESTS },
      to: { path: '^apps/' },
    },
    {
      name: 'fastify-only-in-the-server',
      comment: 'Procedures know no web server; the public listener reads what proxies say of requests.',
      severity: 'error',
      from: { path: ALL, pathNot: '^apps/server/src/(http|operations|testing)/' },
      to: { path: 'node_modules/(fastify|fastify-plugin|@fastify/[^/]+)/' },
    },
    {
      name: 'database-only-in-persistence',
      comment: 'SQL and its driver stay behind the ports.',
      severity: 'error',
      from: { path: ALL, pathNot: rooms('packages/persistence', 'packages/testing', 'packages/runtime') },
      to: { path: 'node_modules/(pg|pg-[^/]+|@mikro-orm)/' },
    },
    {
      name: 'no-circles',
      comment: 'Data goes one way, and so do types: an interface in a circle is in the wrong file.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that leads nowhere fails at start.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared',
      comment: 'Each package.json names what its package uses, and sources use nothing that only tests have.',
      severity: 'error',
      from: { path: ALL },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^packages/[^/]+/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
