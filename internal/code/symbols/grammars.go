package symbols

import "agency/internal/code"

// grammars is what is known of each language that tree-sitter reads.
var grammars = map[code.Language]grammar{
	code.Python: {
		defines:   map[string]Kind{"function_definition": Function, "class_definition": Class},
		values:    map[string]string{"assignment": "left"},
		functions: []string{"lambda"},
		names:     []string{"identifier"},
		imports:   []string{"import_statement", "import_from_statement", "future_import_statement"},
		binds: []string{
			"parameters", "lambda_parameters", "default_parameter", "typed_parameter", "typed_default_parameter", "list_splat_pattern",
			"dictionary_splat_pattern", "assignment", "augmented_assignment", "for_statement", "for_in_clause", "as_pattern_target", "named_expression",
			"global_statement", "nonlocal_statement", "delete_statement",
		},
	},
	code.JavaScript: script,
	code.TypeScript: script,
	code.TSX:        script,
	code.Rust: {
		defines: map[string]Kind{
			"function_item": Function, "function_signature_item": Function, "struct_item": Class, "enum_item": Class, "union_item": Class,
			"trait_item": Interface, "type_item": Type, "mod_item": Module, "macro_definition": Macro, "const_item": Constant,
			"static_item": Variable, "field_declaration": Field, "enum_variant": Constant,
		},
		opens:     map[string]string{"impl_item": "type"},
		functions: []string{"closure_expression"},
		names:     []string{"identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"},
		members:   []string{"field_identifier", "shorthand_field_identifier"},
		imports:   []string{"use_declaration"},
		binds:     []string{"parameter", "let_declaration", "closure_parameters", "for_expression", "match_pattern", "type_parameters", "tuple_struct_pattern"},
	},
	code.Java: {
		defines: map[string]Kind{
			"class_declaration": Class, "enum_declaration": Class, "record_declaration": Class, "interface_declaration": Interface,
			"annotation_type_declaration": Interface, "method_declaration": Method, "constructor_declaration": Method, "enum_constant": Constant,
		},
		values:    map[string]string{"variable_declarator": "name"},
		functions: []string{"lambda_expression"},
		names:     []string{"identifier", "type_identifier"},
		imports:   []string{"import_declaration"},
		binds:     []string{"formal_parameter", "spread_parameter", "variable_declarator", "enhanced_for_statement", "catch_formal_parameter", "inferred_parameters", "lambda_expression", "type_parameter"},
	},
	code.JSON: {defines: map[string]Kind{"pair": Key}},
	code.YAML: {defines: map[string]Kind{"block_mapping_pair": Key, "flow_pair": Key}},
	code.C:    family,
	code.CPP:  family,
	code.CSharp: {
		defines: map[string]Kind{
			"namespace_declaration": Module, "file_scoped_namespace_declaration": Module, "class_declaration": Class, "struct_declaration": Class,
			"record_declaration": Class, "enum_declaration": Class, "interface_declaration": Interface, "delegate_declaration": Type,
			"method_declaration": Method, "constructor_declaration": Method, "property_declaration": Field, "event_declaration": Field,
			"enum_member_declaration": Constant, "local_function_statement": Function,
		},
		values:    map[string]string{"variable_declarator": "name"},
		functions: []string{"lambda_expression"},
		names:     []string{"identifier"},
		imports:   []string{"using_directive"},
		binds:     []string{"parameter", "variable_declarator", "for_each_statement", "catch_declaration", "type_parameter"},
	},
	code.Ruby: {
		defines:   map[string]Kind{"method": Function, "singleton_method": Function, "class": Class, "module": Class},
		values:    map[string]string{"assignment": "left"},
		functions: []string{"lambda"},
		names:     []string{"identifier", "constant"},
		binds:     []string{"method_parameters", "block_parameters", "optional_parameter", "keyword_parameter", "assignment", "for"},
	},
	code.PHP: {
		defines: map[string]Kind{
			"namespace_definition": Module, "class_declaration": Class, "trait_declaration": Class, "enum_declaration": Class, "interface_declaration": Interface,
			"function_definition": Function, "method_declaration": Method, "enum_case": Constant, "property_element": Field,
		},
		functions: []string{"anonymous_function", "arrow_function"},
		names:     []string{"name"},
		members:   nil,
		imports:   []string{"namespace_use_declaration"},
		binds:     []string{"simple_parameter", "variadic_parameter"},
	},
	code.Bash: {
		defines: map[string]Kind{"function_definition": Function},
		values:  map[string]string{"variable_assignment": "name"},
		names:   []string{"word", "variable_name"},
	},
}

// script is JavaScript with what TypeScript adds.
var script = grammar{
	defines: map[string]Kind{
		"function_declaration": Function, "generator_function_declaration": Function, "function_signature": Function,
		"class_declaration": Class, "abstract_class_declaration": Class, "enum_declaration": Class, "interface_declaration": Interface,
		"type_alias_declaration": Type, "internal_module": Module, "module": Module, "method_definition": Method,
		"method_signature": Method, "abstract_method_signature": Method, "public_field_definition": Field, "property_signature": Field,
	},
	values:    map[string]string{"variable_declarator": "name", "field_definition": "property"},
	functions: []string{"arrow_function", "function_expression", "generator_function"},
	names: []string{
		"identifier", "property_identifier", "private_property_identifier", "type_identifier",
		"shorthand_property_identifier", "shorthand_property_identifier_pattern", "statement_identifier",
	},
	members: []string{
		"property_identifier", "private_property_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern", "statement_identifier",
	},
	imports: []string{"import_statement"},
	binds: []string{
		"formal_parameters", "required_parameter", "optional_parameter", "rest_pattern", "assignment_pattern", "variable_declarator",
		"for_in_statement", "catch_clause", "type_parameter", "arrow_function",
	},
}

// family is C with what C++ adds.
var family = grammar{
	defines: map[string]Kind{
		"function_definition": Function, "class_specifier": Class, "struct_specifier": Class, "union_specifier": Class, "enum_specifier": Class,
		"namespace_definition": Module, "alias_declaration": Type, "type_definition": Type, "preproc_def": Macro, "preproc_function_def": Macro,
		"enumerator": Constant, "field_declaration": Field,
	},
	values:    map[string]string{"declaration": "declarator"},
	functions: []string{"lambda_expression"},
	names:     []string{"identifier", "field_identifier", "type_identifier", "namespace_identifier"},
	members:   []string{"field_identifier"},
	binds:     []string{"parameter_declaration", "optional_parameter_declaration", "declaration", "for_range_loop", "type_parameter_declaration"},
}
