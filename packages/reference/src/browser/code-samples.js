/** @import { Operation, CodeSample } from './open-api.d.ts' */

/**
 * Complete programs that call one operation and print its result, in several languages. They read the key from the
 * environment, because samples are copied into files and shells.
 *
 * @param {{ method: string, url: string }} request the URL with example values in place of its parameters
 * @param {Operation} operation
 * @returns {CodeSample[]}
 */
export function codeSamples({ method, url }, operation) {
  const hasContent = '200' in operation.responses;
  return [
    { lang: 'bash', label: 'curl', source: curl(method, url) },
    { lang: 'typescript', label: 'TypeScript', source: typeScript(method, url, hasContent) },
    { lang: 'python', label: 'Python', source: python(method, url, hasContent) },
    { lang: 'go', label: 'Go', source: go(method, url) },
  ];
}

/** @param {string} method @param {string} url */
function curl(method, url) {
  const request = method === 'GET' ? '' : ` --request ${method}`;
  return `curl --include${request} \\
  '${url}' \\
  --header "Authorization: Bearer $PETSTORE_API_KEY"`;
}

/** TypeScript's libraries do not declare `source` yet, hence the type annotation. */
const PRINT_EXACTLY = `// Ids have 64 bits: BigInt keeps all their digits (Node 22 and newer).
const result = JSON.parse(await response.text(), (key, value, context?: { source: string }) =>
  /^id$|Id$/.test(key) ? BigInt(context!.source) : value,
);
console.log(result);`;

/** @param {string} method @param {string} url @param {boolean} hasContent */
function typeScript(method, url, hasContent) {
  const options = method === 'GET' ? '' : `\n  method: '${method}',`;
  const result = hasContent ? PRINT_EXACTLY : 'console.log(response.status);';
  return `const response = await fetch('${url}', {${options}
  headers: { Authorization: \`Bearer \${process.env.PETSTORE_API_KEY}\` },
});
if (!response.ok) {
  const error = (await response.json()) as { code: string; message: string };
  throw new Error(\`\${error.code}: \${error.message}\`);
}
${result}`;
}

/** @param {string} method @param {string} url @param {boolean} hasContent */
function python(method, url, hasContent) {
  const result = hasContent ? 'print(response.json())' : 'print(response.status_code)';
  return `import os

import requests

response = requests.${method.toLowerCase()}(
    "${url}",
    headers={"Authorization": f"Bearer {os.environ['PETSTORE_API_KEY']}"},
    timeout=30,
)
if not response.ok:
    error = response.json()
    raise RuntimeError(f"{error['code']}: {error['message']}")
${result}`;
}

/** @param {string} method @param {string} url */
function go(method, url) {
  return `package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	request, err := http.NewRequest("${method}", "${url}", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("PETSTORE_API_KEY"))

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status)
	fmt.Println(string(body))
}`;
}
