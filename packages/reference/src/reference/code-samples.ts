import type { DescribedOperation, DescribedParameter } from '../interface/describe-interface.ts';

export interface CodeSample {
  /** As highlight.js calls it. */
  readonly language: string;
  readonly label: string;
  readonly source: string;
}

/** What samples call. */
interface SampleRequest {
  readonly method: string;
  /** Its segments are texts, or names of variables of the environment in braces: `{ORDER_ID}`. */
  readonly url: string;
  readonly hasContent: boolean;
  /** Whether ids are numbers, which JSON.parse rounds. */
  readonly hasNumericIds: boolean;
}

/** The query parameters in samples: enough to show how filters and pages work. */
const SAMPLE_QUERY = ['status', 'limit'];

/**
 * The URL with example values in place of the parameters. A method that changes something gets variables in their place,
 * so that no sample that is copied as it is changes anything real.
 */
export function sampleUrl(baseUrl: string, { method, path, parameters }: DescribedOperation): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const { name, place, examples } of parameters) {
    if (place === 'path') {
      const value = method === 'GET' ? encodeURIComponent(examples[0] ?? '1') : `{${variableOf(name)}}`;
      filled = filled.replace(`{${name}}`, value);
    } else if (SAMPLE_QUERY.includes(name)) {
      for (const value of examples) query.append(name, value);
    }
  }
  return baseUrl + filled + (query.size === 0 ? '' : `?${query}`);
}

/** `orderId` is ORDER_ID. */
const variableOf = (name: DescribedParameter['name']): string => name.replaceAll(/(?=[A-Z])/g, '_').toUpperCase();

/**
 * Complete programs that call one operation and print its result, in curl and TypeScript. They read the key from the
 * environment, because samples are copied into files and shells.
 */
export function codeSamples(baseUrl: string, operation: DescribedOperation): readonly CodeSample[] {
  const success = operation.responses.find(({ status }) => status === '200');
  const request: SampleRequest = {
    method: operation.method,
    url: sampleUrl(baseUrl, operation),
    hasContent: success !== undefined,
    hasNumericIds: /"(?:id|\w+Id)":\d/.test(JSON.stringify(success?.example ?? '')),
  };
  return [
    { language: 'bash', label: 'curl', source: curl(request) },
    { language: 'typescript', label: 'TypeScript', source: typeScript(request) },
  ];
}

const VARIABLE = /\{([A-Z_]+)\}/g;
const hasVariable = (url: string): boolean => url.search(VARIABLE) >= 0;

function curl({ method, url }: SampleRequest): string {
  const request = method === 'GET' ? '' : ` --request ${method}`;
  const quoted = hasVariable(url) ? `"${url.replaceAll(VARIABLE, '$$$1')}"` : `'${url}'`;
  return `curl --include${request} \\
  ${quoted} \\
  --header "Authorization: Bearer $PETSTORE_API_KEY"`;
}

/** TypeScript's libraries do not declare `source` yet, hence the type annotation. */
const PRINT_EXACTLY = `// Ids have 64 bits: BigInt keeps all their digits (Node 22 and newer).
const result = JSON.parse(await response.text(), (key, value, context?: { source: string }) =>
  /^id$|Id$/.test(key) ? BigInt(context!.source) : value,
);
console.log(result);`;

function typeScript({ method, url, hasContent, hasNumericIds }: SampleRequest): string {
  const quoted = hasVariable(url) ? `\`${url.replaceAll(VARIABLE, '$${process.env.$1}')}\`` : `'${url}'`;
  const options = method === 'GET' ? '' : `\n  method: '${method}',`;
  const printContent = hasNumericIds ? PRINT_EXACTLY : 'console.log(await response.json());';
  const print = hasContent ? printContent : 'console.log(response.status);';
  return `const response = await fetch(${quoted}, {${options}
  headers: { Authorization: \`Bearer \${process.env.PETSTORE_API_KEY}\` },
});
if (!response.ok) {
  const error = (await response.json()) as { code: string; message: string };
  throw new Error(\`\${error.code}: \${error.message}\`);
}
${print}`;
}
