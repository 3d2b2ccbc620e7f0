// SPDX-License-Identifier: Apache-2.0
#include "script/language.h"

#include "script/cpython.h"
#include "script/lua.h"
#include "script/perl.h"
#include "script/php.h"
#include "script/ruby.h"
#include "script/v8.h"

const struct script_language *script_language(uint32_t language)
{
	static const struct script_language *const languages[] = {
		[SCRIPT_PYTHON] = &cpython_language, [SCRIPT_PHP] = &php_language,
		[SCRIPT_JAVASCRIPT] = &v8_language,  [SCRIPT_LUA] = &lua_language,
		[SCRIPT_RUBY] = &ruby_language,	     [SCRIPT_PERL] = &perl_language,
	};

	_Static_assert(sizeof(languages) / sizeof(languages[0]) == SCRIPT_LANGUAGES_END,
		       "each language of SCRIPT_LANGUAGE_LIST");
	return language < SCRIPT_LANGUAGES_END ? languages[language] : NULL;
}

bool script_language_is_known(const struct script_facts *facts)
{
	const struct script_language *language = script_language(facts->language);
	struct fpl_script_rule rule;

	return language && language->rule(facts, 0, &rule);
}

uint32_t script_language_place(const struct script_facts *facts, const struct fpl_script_rule *rule)
{
	/* records are found by the interpreter, which has what is done now */
	const struct fpl_script_load *load =
		rule->records.bytes ? &rule->records.step : &rule->place;
	uint32_t word = (uint32_t)load->off[0] / 8;

	return rule->is_native || word >= SCRIPT_FACTS_WORDS ? 0 : facts->place_regs[word];
}
