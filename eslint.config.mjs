import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', '.tekil/', 'node_modules/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', 400],
      complexity: ['error', 10],
      'no-console': 'error',
      // Leaving members out by destructuring them is plainer than deleting them from a copy.
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      // Numbers read well in templates ("after 3 attempts"); nothing else may be interpolated unseen.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  {
    // In a workflow the clock and randomness are the sandbox's own and replay; timers go through the SDK all the same.
    files: ['src/domain/**/*.ts', 'workflows/**/*.ts'],
    rules: { 'no-restricted-globals': ['error', 'process', 'setTimeout', 'setInterval', 'fetch'] },
  },
  {
    files: ['src/domain/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: "MemberExpression[object.name='Date'][property.name='now']",
          message: 'Take the time as an argument: this room is pure.',
        },
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: 'Take the time as an argument: this room is pure.',
        },
        {
          selector: "MemberExpression[object.name='Math'][property.name='random']",
          message: 'Take randomness as an argument: this room is pure.',
        },
      ],
    },
  },
  {
    // A terminal program speaks through the terminal.
    files: ['src/cli/**/*.ts', 'src/dev/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    // A test's describe block is a list of sentences; its length says nothing about its complexity.
    // A test may insist that an element is there: if it is not, the test fails, which is right.
    files: ['test/**/*.ts'],
    rules: { 'max-lines-per-function': 'off', '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    files: ['**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
        module: 'writable',
        require: 'readonly',
        __dirname: 'readonly',
      },
    },
  },
);
