import { type Operation, successOf } from './open-api.ts';

/** The query parameters in samples: enough to show how filters, pages and positions work. */
const SAMPLE_QUERY = ['status', 'after', 'limit'];

/**
 * The URL with example values for its parameters. For a method that changes something, they are variables of the
 * environment, such as `{ORDER_ID}`: a sample that is copied unchanged must not change anything real.
 */
function sampleUrl(baseUrl: string, { method, path, parameters = [] }: Operation): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const { name, in: place, example } of parameters) {
    const variable = `{${name.replaceAll(/(?=[A-Z])/g, '_').toUpperCase()}}`;
    if (place === 'path') {
      filled = filled.replace(`{${name}}`, method === 'GET' ? encodeURIComponent(String(example ?? 1)) : variable);
    } else if (SAMPLE_QUERY.includes(name)) {
      for (const value of [example ?? []].flat()) query.append(name, String(value));
    }
  }
  return baseUrl + filled + (query.size === 0 ? '' : `?${query}`);
}

const VARIABLE = /\{([A-Z_]+)\}/g;

/** A command that calls an operation. The key comes from the environment, because commands are copied into files. */
export function curlSample(baseUrl: string, operation: Operation): string {
  const { method } = operation;
  const url = sampleUrl(baseUrl, operation);
  const quoted = url.includes('{') ? `"${url.replaceAll(VARIABLE, '$$$1')}"` : `'${url}'`;
  return `curl --include${method === 'GET' ? '' : ` --request ${method}`} \\
  ${quoted} \\
  --header "Authorization: Bearer $PETSTORE_API_KEY"`;
}

/** TypeScript's libraries do not declare `source` yet, hence the type annotation. */
const PRINT_EXACTLY = `// Ids have 64 bits: BigInt keeps all their digits (Node 22 and newer).
const result = JSON.parse(await response.text(), (key, value, context?: { source: string }) =>
  /^id$|Id$/.test(key) ? BigInt(context!.source) : value,
);
console.log(result);`;

/** A complete program that calls an operation and prints its result. It reads the key from the environment. */
export function typeScriptSample(baseUrl: string, operation: Operation): string {
  const { method } = operation;
  const { status, body } = successOf(operation);
  const url = sampleUrl(baseUrl, operation);
  const quoted = url.includes('{') ? `\`${url.replaceAll(VARIABLE, '$${process.env.$1}')}\`` : `'${url}'`;
  // JSON.parse rounds ids that are numbers.
  const hasNumericIds = /"(?:id|\w+Id)":\d/.test(JSON.stringify(body ?? ''));
  const printBody = hasNumericIds ? PRINT_EXACTLY : 'console.log(await response.json());';
  return `const response = await fetch(${quoted}, {${method === 'GET' ? '' : `\n  method: '${method}',`}
  headers: { Authorization: \`Bearer \${process.env.PETSTORE_API_KEY}\` },
});
if (!response.ok) {
  const error = (await response.json()) as { code: string; message: string };
  throw new Error(\`\${error.code}: \${error.message}\`);
}
${status === '204' ? 'console.log(response.status);' : printBody}`;
}
